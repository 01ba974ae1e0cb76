// Loops, branches and terminators have no `mhlo.sharding`, because XLA changes their tuples.
// RUN: shardc opt %s --passes legalize-backend --spmd-mode partition | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @main
func.func @main(%p: tensor<i1>, %x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: "stablehlo.if"(%arg0) ({
  %0 = "stablehlo.if"(%p) ({
    // CHECK-NEXT: stablehlo.sine %arg1 {mhlo.sharding = "{manual}"}
    %1 = stablehlo.sine %x : tensor<8xf32>
    // CHECK-NEXT: stablehlo.return %{{.*}} : tensor<8xf32>
    stablehlo.return %1 : tensor<8xf32>
  }, {
    stablehlo.return %x : tensor<8xf32>
  // CHECK: }) : (tensor<i1>) -> tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
