// Manual computations whose mesh has the devices in another order: collectives name them, and each asks who it is.
sdy.mesh @mesh = <["x"=4, "y"=2]>
sdy.mesh @other = <["m"=8], device_ids=[3, 1, 7, 5, 0, 2, 4, 6]>
sdy.mesh @halves = <["p"=2, "q"=4], device_ids=[3, 1, 7, 5, 0, 2, 4, 6]>
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %v: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) -> (tensor<64xf32>, tensor<64xf32>, tensor<8xui32>, tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %0:3 = sdy.manual_computation(%v) in_shardings=[<@other, [{"m"}]>] out_shardings=[<@other, [{"m"}]>, <@other, [{}]>, <@other, [{"m"}]>] manual_axes={"m"} (%p: tensor<8xf32>) {
    %1 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[3, 1], [1, 7], [7, 5], [5, 0], [0, 3], [2, 4]]> : tensor<6x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
    %2 = "stablehlo.all_gather"(%p) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, use_global_device_ids}> : (tensor<8xf32>) -> tensor<64xf32>
    %3 = stablehlo.partition_id : tensor<ui32>
    %4 = stablehlo.reshape %3 : (tensor<ui32>) -> tensor<1xui32>
    sdy.return %1, %2, %4 : tensor<8xf32>, tensor<64xf32>, tensor<1xui32>
  } : (tensor<64xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<8xui32>)
  %5 = sdy.manual_computation(%x) in_shardings=[<@halves, [{"p"}, {"q"}]>] out_shardings=[<@halves, [{"p"}, {"q"}]>] manual_axes={"p"} (%b: tensor<8x8xf32>) {
    %6 = stablehlo.cosine %b : tensor<8x8xf32>
    %7 = "stablehlo.all_reduce"(%6) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[3, 0], [1, 2], [7, 4], [5, 6]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %8 = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %8 : tensor<f32>
    }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    sdy.return %7 : tensor<8x8xf32>
  } : (tensor<16x8xf32>) -> tensor<16x8xf32>
  return %0#0, %0#1, %0#2, %5 : tensor<64xf32>, tensor<64xf32>, tensor<8xui32>, tensor<16x8xf32>
}
