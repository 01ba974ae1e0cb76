// Manual computations with loops and other computations in them, on values that free axes split unevenly.
sdy.mesh @mesh = <["a"=3, "b"=2]>
func.func @main(%x0: tensor<4x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", ?}, {"a", ?}]>}, %x1: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", ?}, {?}]>}) -> tensor<16x12xf32> {
  %v3 = sdy.manual_computation(%x0, %x1) in_shardings=[<@mesh, [{"b", "a"}, {}]>, <@mesh, [{"b", "a"}, {}]>] out_shardings=[<@mesh, [{"b"}, {}]>] manual_axes={"b"} (%v1: tensor<2x6xf32>, %v2: tensor<2x8xf32>) {
    %v4 = "stablehlo.all_to_all"(%v2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3], [4, 5]]> : tensor<3x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<2x8xf32>) -> tensor<2x8xf32>
    %v5 = "stablehlo.all_gather"(%v2) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, replica_groups = dense<[[1, 0], [3, 2], [5, 4]]> : tensor<3x2xi64>, use_global_device_ids}> : (tensor<2x8xf32>) -> tensor<4x8xf32>
    %v8 = sdy.manual_computation(%v5) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {"a"}]>] manual_axes={"a"} (%v7: tensor<4x8xf32>) {
      %v9 = stablehlo.transpose %v7, dims = [1, 0] : (tensor<4x8xf32>) -> tensor<8x4xf32>
      %v12 = stablehlo.reverse %v9, dims = [1] : tensor<8x4xf32>
      %v13 = "stablehlo.all_reduce"(%v7) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1, 2, 3, 4, 5]]> : tensor<1x6xi64>, use_global_device_ids}> ({
        ^bb0(%l: tensor<f32>, %r: tensor<f32>):
        %v14 = stablehlo.add %l, %r : tensor<f32>
        stablehlo.return %v14 : tensor<f32>
      }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      %v15 = stablehlo.tanh %v13 : tensor<4x8xf32>
      %v17 = stablehlo.constant dense<0> : tensor<i32>
      %v16:2 = stablehlo.while(%v18 = %v17, %v19 = %v12) : tensor<i32>, tensor<8x4xf32>
      cond {
        %v20 = stablehlo.constant dense<1> : tensor<i32>
        %v21 = stablehlo.compare LT, %v18, %v20, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %v21 : tensor<i1>
      } do {
        %v24 = "stablehlo.collective_permute"(%v19) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, source_target_pairs = dense<[[0, 1], [1, 4]]> : tensor<2x2xi64>}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
        %v22 = stablehlo.constant dense<1> : tensor<i32>
        %v23 = stablehlo.add %v18, %v22 : tensor<i32>
        stablehlo.return %v23, %v24 : tensor<i32>, tensor<8x4xf32>
      }
      %v25 = stablehlo.add %v12, %v12 : tensor<8x4xf32>
      sdy.return %v25 : tensor<8x4xf32>
    } : (tensor<4x8xf32>) -> tensor<8x12xf32>
    sdy.return %v8 : tensor<8x12xf32>
  } : (tensor<4x6xf32>, tensor<4x8xf32>) -> tensor<16x12xf32>
  %v26 = stablehlo.sine %v3 : tensor<16x12xf32>
  return %v26 : tensor<16x12xf32>
}
