// RUN: shardc partition %s -o - | FileCheck %s
// A reshape whose sizes have too small a common divisor works on replicated operands.

sdy.mesh @mesh = <["x"=3, "y"=2]>

// CHECK-LABEL: func.func @main
func.func @main(%arg0: tensor<6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<4x9xf32> {
  // CHECK: stablehlo.reshape %{{.*}} : (tensor<6x6xf32>) -> tensor<4x9xf32>
  %0 = stablehlo.reshape %arg0 : (tensor<6x6xf32>) -> tensor<4x9xf32>
  return %0 : tensor<4x9xf32>
}
