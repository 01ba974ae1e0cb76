module {
  func.func @normalization(%arg0: tensor<2x3x4xf32>, %arg1: tensor<3xf32>) -> tensor<2x3x4xf32> {
    %output, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
    %0 = "stablehlo.batch_norm_inference"(%output, %arg1, %arg1, %batch_mean, %batch_var) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
    %grad_operand, %grad_scale, %grad_offset = "stablehlo.batch_norm_grad"(%0, %arg1, %batch_mean, %batch_var, %arg0) <{epsilon = 0.000000e+00 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
    return %grad_operand : tensor<2x3x4xf32>
  }
  func.func @map_and_random(%arg0: tensor<4x8xf32>, %arg1: tensor<f32>, %arg2: tensor<2xi64>) -> tensor<4x8xf32> {
    %0 = "stablehlo.map"(%arg0, %arg0) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %3 = stablehlo.multiply %arg3, %arg4 : tensor<f32>
      stablehlo.return %3 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = stablehlo.rng %arg1, %arg1, %arg2, distribution = NORMAL : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    %2 = stablehlo.rng %arg1, %arg1, %arg2, distribution = UNIFORM {a} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    return %0 : tensor<4x8xf32>
  }
  func.func @dynamic(%arg0: tensor<?x4xf32>, %arg1: tensor<2xi64>, %arg2: tensor<f32>, %arg3: tensor<i32>, %arg4: tensor<1x2x1xi32>, %arg5: tensor<1x4x2xf32>, %arg6: tensor<1x2xi32>, %arg7: tensor<1x8x4xf32>) {
    %0 = stablehlo.dynamic_reshape %arg0, %arg1 : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    %1 = stablehlo.dynamic_broadcast_in_dim %arg0, %arg1, dims = [0, 1] {known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>} : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
    %2 = stablehlo.dynamic_iota %arg1, dim = 1 : (tensor<2xi64>) -> tensor<?x?xi32>
    %3 = stablehlo.dynamic_pad %arg0, %arg2, %arg1, %arg1, %arg1 : (tensor<?x4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %4 = stablehlo.real_dynamic_slice %arg0, %arg1, %arg1, %arg1 : (tensor<?x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %5 = "stablehlo.dynamic_gather"(%arg0, %arg4, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = true}> : (tensor<?x4xf32>, tensor<1x2x1xi32>, tensor<2xi64>) -> tensor<1x2x?xf32>
    %6 = "stablehlo.dynamic_conv"(%arg7, %arg5, %arg6) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 2>}> : (tensor<1x8x4xf32>, tensor<1x4x2xf32>, tensor<1x2xi32>) -> tensor<1x?x2xf32>
    %7 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %8 = stablehlo.set_dimension_size %arg7, %arg3, dim = 1 : (tensor<1x8x4xf32>, tensor<i32>) -> tensor<1x?x4xf32, #stablehlo.bounds<?, 8, ?>>
    return
  }
  func.func @old(%arg0: tensor<4x4xf32>, %arg1: tensor<2xi32>) {
    %0 = stablehlo.broadcast %arg0, sizes = [2, 3] : (tensor<4x4xf32>) -> tensor<2x3x4x4xf32>
    %1 = stablehlo.einsum %arg0, %arg0, config = "ab,bc->ac" : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.unary_einsum %arg0, config = "ab->a" : (tensor<4x4xf32>) -> tensor<4xf32>
    %3 = "stablehlo.torch_index_select"(%arg0, %arg1) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<4x4xf32>, tensor<2xi32>) -> tensor<4x2xf32>
    %4 = "stablehlo.cross-replica-sum"(%arg0) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    return
  }
  func.func @devices(%arg0: tensor<4xf32>, %arg1: !stablehlo.token) -> !stablehlo.token {
    %0 = stablehlo.create_token : !stablehlo.token
    %1:2 = "stablehlo.infeed"(%arg1) <{infeed_config = "in", layout = [[0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    %2 = "stablehlo.outfeed"(%arg0, %1#1) <{outfeed_config = ""}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %3 = "stablehlo.send"(%arg0, %2) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %4:2 = "stablehlo.recv"(%3) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    %5 = "stablehlo.async_start"(%arg0) ({
    ^bb0(%arg2: tensor<4xf32>):
      %8 = stablehlo.slice %arg2 [0:4] : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %8 : tensor<4xf32>
    }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
    %6 = "stablehlo.async_done"(%5) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
    %7 = "stablehlo.all_reduce"(%6) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %8 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %8 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %4#1 : !stablehlo.token
  }
  func.func private @decomposition(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    return %arg0 : tensor<4xf32>
  }
  func.func @composite(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.composite "my.op" %arg0 {composite_attributes = {a = "x", b = 2 : i64}, decomposition = @decomposition, version = 3 : i32} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = stablehlo.composite "my.other" %0 {d, decomposition = @decomposition} : (tensor<4xf32>) -> tensor<4xf32>
    return %1 : tensor<4xf32>
  }
}
