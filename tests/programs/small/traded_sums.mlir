// Gradients of weights that are larger than the batch: devices exchange the operands of products rather than sum what each
// makes of its part of the batch. Even and uneven batches, transposed, of a convolution, with the weight split along another
// axis, of numbers of half the width, and of a loop that needs the sum each time round.
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func public @main(
    %x: tensor<16x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %g: tensor<16x1536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %h: tensor<16x1536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
    %xu: tensor<13x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %gu: tensor<13x2200xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %image: tensor<8x384x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}, {}, {}]>},
    %back: tensor<8x512x4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}, {}, {}]>},
    %w: tensor<2048x1536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> (tensor<2048x1536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<1536x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<2048x1536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
        tensor<2048x2200xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<512x384x3x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}, {}]>},
        tensor<2048x1536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<2048x1536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %plain = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<16x2048xf32>, tensor<16x1536xf32>) -> tensor<2048x1536xf32>
  %scaled = stablehlo.multiply %g, %g : tensor<16x1536xf32>
  %1 = stablehlo.dot_general %x, %scaled, contracting_dims = [0] x [0] : (tensor<16x2048xf32>, tensor<16x1536xf32>) -> tensor<2048x1536xf32>
  %turned = stablehlo.transpose %1, dims = [1, 0] : (tensor<2048x1536xf32>) -> tensor<1536x2048xf32>
  %columns = stablehlo.dot_general %x, %h, contracting_dims = [0] x [0] : (tensor<16x2048xf32>, tensor<16x1536xf32>) -> tensor<2048x1536xf32>
  %narrow = stablehlo.dot_general %xu, %gu, contracting_dims = [0] x [0] : (tensor<13x2048xbf16>, tensor<13x2200xbf16>) -> tensor<2048x2200xbf16>
  %kernel = stablehlo.convolution(%image, %back) dim_numbers = [f, b, 0, 1]x[i, o, 0, 1]->[f, b, 0, 1], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<8x384x4x4xf32>, tensor<8x512x4x4xf32>) -> tensor<512x384x3x3xf32>
  // Sums that are added are completed together, by one all-reduce.
  %2 = stablehlo.negate %x : tensor<16x2048xf32>
  %3 = stablehlo.dot_general %2, %scaled, contracting_dims = [0] x [0] : (tensor<16x2048xf32>, tensor<16x1536xf32>) -> tensor<2048x1536xf32>
  %4 = stablehlo.cosine %g : tensor<16x1536xf32>
  %5 = stablehlo.dot_general %x, %4, contracting_dims = [0] x [0] : (tensor<16x2048xf32>, tensor<16x1536xf32>) -> tensor<2048x1536xf32>
  %added = stablehlo.add %3, %5 : tensor<2048x1536xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %steps:2 = stablehlo.while(%i = %zero, %v = %w) : tensor<i32>, tensor<2048x1536xf32>
    cond {
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %y = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<16x2048xf32>, tensor<2048x1536xf32>) -> tensor<16x1536xf32>
      %t = stablehlo.tanh %y : tensor<16x1536xf32>
      %dv = stablehlo.dot_general %x, %t, contracting_dims = [0] x [0] : (tensor<16x2048xf32>, tensor<16x1536xf32>) -> tensor<2048x1536xf32>
      %next = stablehlo.subtract %v, %dv : tensor<2048x1536xf32>
      %n = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %n, %next : tensor<i32>, tensor<2048x1536xf32>
    }
  return %plain, %turned, %columns, %narrow, %kernel, %added, %steps#1 : tensor<2048x1536xf32>, tensor<1536x2048xf32>, tensor<2048x1536xf32>, tensor<2048x2200xbf16>, tensor<512x384x3x3xf32>, tensor<2048x1536xf32>, tensor<2048x1536xf32>
}
