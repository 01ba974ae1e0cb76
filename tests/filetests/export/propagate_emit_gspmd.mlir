// A propagated program can be exported to GSPMD. A loop that captures values has no sharding of its own.
// RUN: shardc propagate %s --emit-gspmd | FileCheck %s

sdy.mesh @mesh = <["x"=4]>
// CHECK: %arg0: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %n = stablehlo.constant dense<3> : tensor<i32>
  // CHECK: stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<8xf32>
  // CHECK-NEXT: cond {
  %0:2 = stablehlo.while(%i = %n, %v = %a) : tensor<i32>, tensor<8xf32>
  cond {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %c = stablehlo.compare GT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %o = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.subtract %i, %o : tensor<i32>
    // CHECK: stablehlo.add %iterArg_0, %arg0 {mhlo.sharding = "{devices=[4]<=[4]}"}
    %w = stablehlo.add %v, %a : tensor<8xf32>
    stablehlo.return %j, %w : tensor<i32>, tensor<8xf32>
  }
  return %0#1 : tensor<8xf32>
}
