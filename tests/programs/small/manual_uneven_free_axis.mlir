// Twelve rows over two manual devices, and the six of each over four free ones: the last has none of them.
sdy.mesh @mesh = <["m"=2, "f"=4]>
func.func @main(%x: tensor<12x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m", "f"}, {}]>}) -> (tensor<2xf32>, tensor<12x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m", "f"}, {}]>}) {
  %0:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"m", "f"}, {}]>] out_shardings=[<@mesh, [{"m"}]>, <@mesh, [{"m", "f"}, {}]>] manual_axes={"m"} (%a: tensor<6x5xf32>) {
    %e = stablehlo.exponential %a : tensor<6x5xf32>
    %c = sdy.sharding_constraint %e <@mesh, [{"f"}, {}]> : tensor<6x5xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x5xf32>, tensor<f32>) -> tensor<f32>
    %other = "stablehlo.collective_permute"(%sum) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 4], [1, 5], [2, 6], [3, 7], [4, 0], [5, 1], [6, 2], [7, 3]]> : tensor<8x2xi64>}> : (tensor<f32>) -> tensor<f32>
    %one = stablehlo.reshape %other : (tensor<f32>) -> tensor<1xf32>
    %many = stablehlo.broadcast_in_dim %other, dims = [] : (tensor<f32>) -> tensor<6x5xf32>
    %d = stablehlo.divide %c, %many : tensor<6x5xf32>
    sdy.return %one, %d : tensor<1xf32>, tensor<6x5xf32>
  } : (tensor<12x5xf32>) -> (tensor<2xf32>, tensor<12x5xf32>)
  return %0#0, %0#1 : tensor<2xf32>, tensor<12x5xf32>
}
