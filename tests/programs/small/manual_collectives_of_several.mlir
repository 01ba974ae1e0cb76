// Collectives of several values, of different shapes where the operation lets them be.
sdy.mesh @mesh = <["m"=4]>
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>}, %y: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}]>}) -> (tensor<16x8xf32>, tensor<8x12xf32>) {
  %0:2 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"m"}, {}]>, <@mesh, [{"m"}, {}]>] out_shardings=[<@mesh, [{"m"}, {}]>, <@mesh, [{"m"}, {}]>] manual_axes={"m"} (%a: tensor<4x8xf32>, %b: tensor<2x12xf32>) {
    %sums:2 = "stablehlo.all_reduce"(%a, %b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<2x12xf32>) -> (tensor<4x8xf32>, tensor<2x12xf32>)
    %turned:2 = "stablehlo.all_to_all"(%sums#0, %sums#1) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x8xf32>, tensor<2x12xf32>) -> (tensor<16x2xf32>, tensor<8x3xf32>)
    %u = stablehlo.reshape %turned#0 : (tensor<16x2xf32>) -> tensor<4x8xf32>
    %v = stablehlo.reshape %turned#1 : (tensor<8x3xf32>) -> tensor<2x12xf32>
    sdy.return %u, %v : tensor<4x8xf32>, tensor<2x12xf32>
  } : (tensor<16x8xf32>, tensor<8x12xf32>) -> (tensor<16x8xf32>, tensor<8x12xf32>)
  return %0#0, %0#1 : tensor<16x8xf32>, tensor<8x12xf32>
}
