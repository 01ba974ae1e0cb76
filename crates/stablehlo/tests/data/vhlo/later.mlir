module @later {
  func.func private @mesh()
  func.func private @future() -> !stablehlo.future<tensor<f32>, tensor<i32>>
  func.func @main(%arg0: tensor<2x8x4xf32>, %arg1: tensor<2x4x8xf32>, %arg2: tensor<2x3x1xi32>) -> (tensor<2x8x8xf32>, tensor<2x3x4xf32>) {
    %0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<2x8x4xf32>, tensor<2x4x8xf32>) -> tensor<2x8x8xf32>
    %1 = "stablehlo.gather"(%arg0, %arg2) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, slice_sizes = array<i64: 1, 1, 4>}> : (tensor<2x8x4xf32>, tensor<2x3x1xi32>) -> tensor<2x3x4xf32>
    %2 = stablehlo.tan %1 : tensor<2x3x4xf32>
    %3 = stablehlo.exponential %2 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, rtol = 2.500000e-01, ulps = 3, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<2x3x4xf32>
    %4 = stablehlo.tanh %3 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<2x3x4xf32>
    return %0, %4 : tensor<2x8x8xf32>, tensor<2x3x4xf32>
  }
  func.func @collectives(%arg0: tensor<f32>, %arg1: tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>) {
    %0:2 = "stablehlo.all_reduce"(%arg0, %arg0) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
      %4 = stablehlo.add %arg2, %arg3 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)
    %1 = "stablehlo.collective_broadcast"(%arg1) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    %2 = "stablehlo.async_start"(%arg1) ({
    ^bb0(%arg2: tensor<4xf32>):
      %4 = "stablehlo.collective_permute"(%arg2) <{source_target_pairs = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %4 : tensor<4xf32>
    }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
    %3 = "stablehlo.async_done"(%2) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
    return %0#0, %1, %3, %0#1 : tensor<f32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>
  }
  func.func @axes(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "x", sub_axis_info = (1)2>, #stablehlo.axis_ref<name = "y">]>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @meshes(%arg0: tensor<f32>) -> tensor<f32> {
    %0 = "stablehlo.all_reduce"(%arg0) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = #stablehlo.mesh<axes=[<name = "x", size = 2>, <name = "y", size = 4>], device_ids=dense<[0, 2, 4, 6, 1, 3, 5, 7]> : tensor<8xi64>>, axes = [#stablehlo.axis_ref<name = "x">]>}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %1 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<f32>) -> tensor<f32>
    return %0 : tensor<f32>
  }
  func.func @tokens(%arg0: tensor<4xf32>, %arg1: !stablehlo.token) -> !stablehlo.token {
    %0 = "stablehlo.send"(%arg0, %arg1) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    return %0 : !stablehlo.token
  }
  func.func @calls(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.custom_call @Pin(%arg0) {api_version = 4 : i32, backend_config = {bar = 42 : i32, foo = "text"}} : (tensor<2xf32>) -> memref<2xf32>
    %1 = stablehlo.custom_call @Unpin(%0) {api_version = 4 : i32} : (memref<2xf32>) -> tensor<2xf32>
    %2 = stablehlo.composite "own.name" %1 {composite_attributes = {n = 1 : i64, s = "foo"}, decomposition = @target, version = 2 : i32} : (tensor<2xf32>) -> tensor<2xf32>
    %3 = stablehlo.composite "own.regions" %2 ({
    ^bb0(%arg1: tensor<f32>):
      stablehlo.return %arg1 : tensor<f32>
    }) {decomposition = @target} : (tensor<2xf32>) -> tensor<2xf32>
    return %3 : tensor<2xf32>
  }
  func.func private @target(%arg0: tensor<2xf32>) -> tensor<2xf32> {
    return %arg0 : tensor<2xf32>
  }
  func.func @types(%arg0: tensor<2xi2>, %arg1: tensor<2xui2>, %arg2: tensor<2xf8E3M4>, %arg3: tensor<2xf8E4M3>, %arg4: tensor<2xf4E2M1FN>, %arg5: tensor<2xf6E2M3FN>, %arg6: tensor<2xf6E3M2FN>, %arg7: tensor<2xf8E8M0FNU>, %arg8: tensor<2xf8E4M3FN>, %arg9: tensor<2xf8E5M2FNUZ>, %arg10: tensor<2xf8E4M3B11FNUZ>, %arg11: tensor<2xf8E4M3FNUZ>, %arg12: tensor<2xf8E5M2>) -> tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01:16,2.500000e-01}>> {
    %0 = stablehlo.convert %arg2 : (tensor<2xf8E3M4>) -> tensor<2xf32>
    %1 = stablehlo.uniform_quantize %0 : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01:16,2.500000e-01}>>
    return %1 : tensor<2x!quant.uniform<i8:f32:0, {5.000000e-01:16,2.500000e-01}>>
  }
}
