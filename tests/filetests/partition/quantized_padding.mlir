// RUN: shardc partition %s -o - | FileCheck %s

// The stored zero of this type represents -0.3: a convolution, which pads with the number zero, must not absorb this padding.

sdy.mesh @mesh = <["x"=2]>

// CHECK: stablehlo.pad
// CHECK: stablehlo.convolution
// CHECK-NOT: pad = {{\[\[}}1, 1
func.func @main(%a: tensor<2x4x1x!quant.uniform<i8:f32, 0.1:3>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, %k: tensor<3x1x1x!quant.uniform<i8:f32, 0.2>>) -> tensor<2x4x1x!quant.uniform<i8:f32, 0.3>> {
  %zero = "stablehlo.constant"() <{value = dense<0> : tensor<i8>}> : () -> tensor<!quant.uniform<i8:f32, 0.1:3>>
  %0 = stablehlo.pad %a, %zero, low = [0, 1, 0], high = [0, 1, 0], interior = [0, 0, 0] : (tensor<2x4x1x!quant.uniform<i8:f32, 0.1:3>>, tensor<!quant.uniform<i8:f32, 0.1:3>>) -> tensor<2x6x1x!quant.uniform<i8:f32, 0.1:3>>
  %1 = stablehlo.convolution(%0, %k) dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x6x1x!quant.uniform<i8:f32, 0.1:3>>, tensor<3x1x1x!quant.uniform<i8:f32, 0.2>>) -> tensor<2x4x1x!quant.uniform<i8:f32, 0.3>>
  return %1 : tensor<2x4x1x!quant.uniform<i8:f32, 0.3>>
}
