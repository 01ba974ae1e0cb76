// Queries, keys and values of one product, of different widths, and the gradients of its operands: ranges of the weight are
// exchanged, not of what has 131,072 rows.
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func @main(
    %x: tensor<131072x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
    %b: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>})
    -> (tensor<131072x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
        tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
        tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %wt = stablehlo.transpose %w, dims = [1, 0] : (tensor<16x8xf32>) -> tensor<8x16xf32>
  %xw = stablehlo.dot_general %x, %wt, contracting_dims = [1] x [0] : (tensor<131072x8xf32>, tensor<8x16xf32>) -> tensor<131072x16xf32>
  %rows = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xf32>) -> tensor<131072x16xf32>
  %qkv = stablehlo.add %xw, %rows : tensor<131072x16xf32>
  %q = stablehlo.slice %qkv [0:131072, 0:8] : (tensor<131072x16xf32>) -> tensor<131072x8xf32>
  %k = stablehlo.slice %qkv [0:131072, 8:12] : (tensor<131072x16xf32>) -> tensor<131072x4xf32>
  %v = stablehlo.slice %qkv [0:131072, 12:16] : (tensor<131072x16xf32>) -> tensor<131072x4xf32>
  %dq = stablehlo.sine %q : tensor<131072x8xf32>
  %dk = stablehlo.multiply %k, %v : tensor<131072x4xf32>
  %dv = stablehlo.tanh %k : tensor<131072x4xf32>
  %joined = stablehlo.concatenate %dq, %dk, %dv, dim = 1 : (tensor<131072x8xf32>, tensor<131072x4xf32>, tensor<131072x4xf32>) -> tensor<131072x16xf32>
  %later:2 = stablehlo.optimization_barrier %w, %joined : tensor<16x8xf32>, tensor<131072x16xf32>
  %half = stablehlo.constant dense<0.5> : tensor<131072x16xf32>
  %d = stablehlo.multiply %joined, %half : tensor<131072x16xf32>
  %db = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<131072x16xf32>, tensor<f32>) -> tensor<16xf32>
  %dw = stablehlo.dot_general %d, %x, contracting_dims = [0] x [0] : (tensor<131072x16xf32>, tensor<131072x8xf32>) -> tensor<16x8xf32>
  %dx = stablehlo.dot_general %d, %later#0, contracting_dims = [1] x [0] : (tensor<131072x16xf32>, tensor<16x8xf32>) -> tensor<131072x8xf32>
  return %dx, %dw, %db : tensor<131072x8xf32>, tensor<16x8xf32>, tensor<16xf32>
}
