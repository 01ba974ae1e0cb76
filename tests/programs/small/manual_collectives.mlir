// Every collective of a manual computation over one axis, on values that the free axis splits further.
sdy.mesh @mesh = <["m"=2, "f"=4]>
func.func @main(%x: tensor<16x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {}, {"f"}]>}) -> (tensor<16x8x8xf32>, tensor<16x8x8xf32>) {
  %0:2 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"m", ?}, {?}, {?}]>] out_shardings=[<@mesh, [{"m", ?}, {?}, {?}]>, <@mesh, [{"m", ?}, {?}, {?}]>] manual_axes={"m"} (%a: tensor<8x8x8xf32>) {
    %sum = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %all = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[4, 0], [5, 1], [6, 2], [7, 3]]> : tensor<4x2xi64>, use_global_device_ids}> : (tensor<8x8x8xf32>) -> tensor<16x8x8xf32>
    %half = "stablehlo.reduce_scatter"(%all) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, scatter_dimension = 0 : i64, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.maximum %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<16x8x8xf32>) -> tensor<8x8x8xf32>
    %back = "stablehlo.collective_permute"(%half) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, source_target_pairs = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}> : (tensor<8x8x8xf32>) -> tensor<8x8x8xf32>
    %turned = "stablehlo.all_to_all"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, concat_dimension = 1 : i64, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8x8x8xf32>) -> tensor<4x16x8xf32>
    %wide = stablehlo.reshape %turned : (tensor<4x16x8xf32>) -> tensor<8x8x8xf32>
    %1 = stablehlo.subtract %sum, %back : tensor<8x8x8xf32>
    %2 = stablehlo.multiply %1, %half : tensor<8x8x8xf32>
    sdy.return %2, %wide : tensor<8x8x8xf32>, tensor<8x8x8xf32>
  } : (tensor<16x8x8xf32>) -> (tensor<16x8x8xf32>, tensor<16x8x8xf32>)
  return %0#0, %0#1 : tensor<16x8x8xf32>, tensor<16x8x8xf32>
}
