// Queries, keys and values are taken from a reshaped product, and their gradients are padded, summed and reshaped back: the heads are
// split as the columns of the weight are.
sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(
    %x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<16x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %xw = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x24xf32>) -> tensor<8x24xf32>
  %apart = stablehlo.reshape %xw : (tensor<8x24xf32>) -> tensor<8x3x4x2xf32>
  %qkv = stablehlo.transpose %apart, dims = [1, 2, 0, 3] : (tensor<8x3x4x2xf32>) -> tensor<3x4x8x2xf32>
  %q = stablehlo.slice %qkv [0:1, 0:4, 0:8, 0:2] : (tensor<3x4x8x2xf32>) -> tensor<1x4x8x2xf32>
  %k = stablehlo.slice %qkv [1:2, 0:4, 0:8, 0:2] : (tensor<3x4x8x2xf32>) -> tensor<1x4x8x2xf32>
  %v = stablehlo.slice %qkv [2:3, 0:4, 0:8, 0:2] : (tensor<3x4x8x2xf32>) -> tensor<1x4x8x2xf32>
  %dq = stablehlo.multiply %k, %v : tensor<1x4x8x2xf32>
  %dk = stablehlo.multiply %q, %v : tensor<1x4x8x2xf32>
  %dv = stablehlo.multiply %q, %k : tensor<1x4x8x2xf32>
  %0 = stablehlo.pad %dv, %zero, low = [2, 0, 0, 0], high = [0, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x4x8x2xf32>, tensor<f32>) -> tensor<3x4x8x2xf32>
  %1 = stablehlo.pad %dk, %zero, low = [1, 0, 0, 0], high = [1, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x4x8x2xf32>, tensor<f32>) -> tensor<3x4x8x2xf32>
  %2 = stablehlo.add %0, %1 : tensor<3x4x8x2xf32>
  %3 = stablehlo.pad %dq, %zero, low = [0, 0, 0, 0], high = [2, 0, 0, 0], interior = [0, 0, 0, 0] : (tensor<1x4x8x2xf32>, tensor<f32>) -> tensor<3x4x8x2xf32>
  %4 = stablehlo.add %2, %3 : tensor<3x4x8x2xf32>
  %5 = stablehlo.transpose %4, dims = [2, 0, 1, 3] : (tensor<3x4x8x2xf32>) -> tensor<8x3x4x2xf32>
  %d = stablehlo.reshape %5 : (tensor<8x3x4x2xf32>) -> tensor<8x24xf32>
  %dw = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x24xf32>) -> tensor<16x24xf32>
  return %dw : tensor<16x24xf32>
}
