// A manual computation in another: a sum over each axis by itself, and the number of the device where both are manual.
sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
func.func @main(%x: tensor<8x8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}, {"c"}]>}) -> tensor<8x8x6xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}, {}, {}]>] out_shardings=[<@mesh, [{"a"}, {}, {}]>] manual_axes={"a"} (%p: tensor<4x8x6xf32>) {
    %1 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x8x6xf32>) -> tensor<4x8x6xf32>
    %number = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{"c"}]>] manual_axes={"b", "c"} () {
      %id = stablehlo.partition_id : tensor<ui32>
      %f = stablehlo.convert %id : (tensor<ui32>) -> tensor<f32>
      %v = stablehlo.reshape %f : (tensor<f32>) -> tensor<1xf32>
      %least = "stablehlo.all_reduce"(%v) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
      ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %s = stablehlo.minimum %l, %r : tensor<f32>
        stablehlo.return %s : tensor<f32>
      }) : (tensor<1xf32>) -> tensor<1xf32>
      sdy.return %least : tensor<1xf32>
    } : () -> tensor<2xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{}, {"b"}, {?}]>] out_shardings=[<@mesh, [{}, {"b"}, {?}]>] manual_axes={"b"} (%q: tensor<4x4x6xf32>) {
      %3 = "stablehlo.collective_permute"(%q) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 2], [1, 3], [4, 6], [5, 7]]> : tensor<4x2xi64>}> : (tensor<4x4x6xf32>) -> tensor<4x4x6xf32>
      %4 = stablehlo.subtract %q, %3 : tensor<4x4x6xf32>
      sdy.return %4 : tensor<4x4x6xf32>
    } : (tensor<4x8x6xf32>) -> tensor<4x8x6xf32>
    %two = stablehlo.reshape %number : (tensor<2xf32>) -> tensor<2x1xf32>
    %wide = stablehlo.broadcast_in_dim %two, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x3xf32>
    %flat = stablehlo.reshape %wide : (tensor<2x3xf32>) -> tensor<6xf32>
    %all = stablehlo.broadcast_in_dim %flat, dims = [2] : (tensor<6xf32>) -> tensor<4x8x6xf32>
    %5 = stablehlo.add %2, %all : tensor<4x8x6xf32>
    sdy.return %5 : tensor<4x8x6xf32>
  } : (tensor<8x8x6xf32>) -> tensor<8x8x6xf32>
  return %0 : tensor<8x8x6xf32>
}
