// A manual computation with a loop and another computation in it; their collectives meet in other orders than the mesh has.
sdy.mesh @mesh = <["a"=2, "b"=3]>
func.func @main(%x0: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %x1: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<16x16xf32> {
  %v3 = sdy.manual_computation(%x0, %x1) in_shardings=[<@mesh, [{"a"}, {}]>, <@mesh, [{"a", ?}, {?}]>] out_shardings=[<@mesh, [{"a", ?}, {?}]>] manual_axes={"a"} (%v1: tensor<4x12xf32>, %v2: tensor<8x16xf32>) {
    %v5 = stablehlo.constant dense<0> : tensor<i32>
    %v4:2 = stablehlo.while(%v6 = %v5, %v7 = %v2) : tensor<i32>, tensor<8x16xf32>
    cond {
      %v8 = stablehlo.constant dense<3> : tensor<i32>
      %v9 = stablehlo.compare LT, %v6, %v8, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %v9 : tensor<i1>
    } do {
      %v12 = stablehlo.transpose %v7, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
      %v13 = stablehlo.transpose %v7, dims = [1, 0] : (tensor<8x16xf32>) -> tensor<16x8xf32>
      %v14 = "stablehlo.all_gather"(%v7) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>, use_global_device_ids}> : (tensor<8x16xf32>) -> tensor<8x32xf32>
      %v15 = "stablehlo.all_to_all"(%v14) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, concat_dimension = 0 : i64, replica_groups = dense<[[0, 3], [1, 4], [2, 5]]> : tensor<3x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<8x32xf32>) -> tensor<16x16xf32>
      %v10 = stablehlo.constant dense<1> : tensor<i32>
      %v11 = stablehlo.add %v6, %v10 : tensor<i32>
      stablehlo.return %v11, %v7 : tensor<i32>, tensor<8x16xf32>
    }
    %v18 = sdy.manual_computation(%v2) in_shardings=[<@mesh, [{?}, {?}]>] out_shardings=[<@mesh, [{"b", ?}, {}]>] manual_axes={"b"} (%v17: tensor<8x16xf32>) {
      %v19 = "stablehlo.collective_permute"(%v17) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, source_target_pairs = dense<[[0, 1], [3, 4]]> : tensor<2x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
      %v21 = "stablehlo.collective_permute"(%v19) <{channel_handle = #stablehlo.channel_handle<handle = 4, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0], [3, 4], [4, 3]]> : tensor<4x2xi64>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
      sdy.return %v19 : tensor<8x16xf32>
    } : (tensor<8x16xf32>) -> tensor<24x16xf32>
    %v24 = stablehlo.constant dense<0> : tensor<i32>
    %v23:2 = stablehlo.while(%v25 = %v24, %v26 = %v2) : tensor<i32>, tensor<8x16xf32>
    cond {
      %v27 = stablehlo.constant dense<1> : tensor<i32>
      %v28 = stablehlo.compare LT, %v25, %v27, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %v28 : tensor<i1>
    } do {
      %v31 = stablehlo.reverse %v26, dims = [1] : tensor<8x16xf32>
      %v32 = stablehlo.reverse %v26, dims = [0] : tensor<8x16xf32>
      %v29 = stablehlo.constant dense<1> : tensor<i32>
      %v30 = stablehlo.add %v25, %v29 : tensor<i32>
      stablehlo.return %v30, %v32 : tensor<i32>, tensor<8x16xf32>
    }
    sdy.return %v23#1 : tensor<8x16xf32>
  } : (tensor<8x12xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %v33 = stablehlo.sine %v3 : tensor<16x16xf32>
  return %v33 : tensor<16x16xf32>
}
