// A named computation is partitioned as if it were inlined.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK: func.func @main(%arg0: tensor<4x8xf32>) -> tensor<4x8xf32>
// CHECK-NEXT: stablehlo.tanh %arg0 : tensor<4x8xf32>
// CHECK-NOT: all_gather
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = sdy.named_computation<"f">(%a) (%b: tensor<8x8xf32>) {
    %1 = stablehlo.tanh %b : tensor<8x8xf32>
    sdy.return %1 : tensor<8x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
