module @operations attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<4x8xf32> {jax.buffer_donor = true, mhlo.layout_mode = "default"}, %arg1: tensor<8x16xf32> {tf.aliasing_output = 0 : i32}, %arg2: tensor<i32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}, tensor<4xf32>) attributes {mhlo.frontend_attributes = {a = "b\22c", "d e" = "\00\FF"}} {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %2 = stablehlo.exponential %1 {result_accuracy = #stablehlo.result_accuracy<atol = 1.000000e-05, rtol = 2.000000e+00, ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    %3 = stablehlo.log %2 {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
    %4 = stablehlo.compare LT, %1, %3, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %5 = stablehlo.select %4, %1, %3 : tensor<4xi1>, tensor<4xf32>
    %6 = "stablehlo.reduce_window"(%arg0, %cst) <{padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %19 = stablehlo.maximum %arg3, %arg4 : tensor<f32>
      stablehlo.return %19 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x4xf32>
    %7 = stablehlo.reshape %arg0 : (tensor<4x8xf32>) -> tensor<1x4x8x1xf32>
    %cst_0 = stablehlo.constant dense<1.000000e+00> : tensor<3x3x1x2xf32>
    %8 = stablehlo.convolution(%7, %cst_0) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [1, 1]], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<1x4x8x1xf32>, tensor<3x3x1x2xf32>) -> tensor<1x2x8x2xf32>
    %c = stablehlo.constant dense<[[0], [2]]> : tensor<2x1xi32>
    %9 = "stablehlo.gather"(%arg0, %c) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>
    %10 = "stablehlo.scatter"(%arg0, %c, %9) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<2x1xi32>, tensor<2x8xf32>) -> tensor<4x8xf32>
    %11 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      %19 = stablehlo.add %arg3, %arg4 : tensor<f32>
      stablehlo.return %19 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %12:2 = stablehlo.while(%iterArg = %arg2, %iterArg_2 = %11) : tensor<i32>, tensor<4xf32>
    cond {
      %c_3 = stablehlo.constant dense<10> : tensor<i32>
      %19 = stablehlo.compare LT, %iterArg, %c_3, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %19 : tensor<i1>
    } do {
      %c_3 = stablehlo.constant dense<1> : tensor<i32>
      %19 = stablehlo.add %iterArg, %c_3 : tensor<i32>
      %20 = stablehlo.add %iterArg_2, %5 : tensor<4xf32>
      stablehlo.return %19, %20 : tensor<i32>, tensor<4xf32>
    }
    %c_1 = stablehlo.constant dense<1> : tensor<2xui64>
    %output_state, %output = stablehlo.rng_bit_generator %c_1, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %13 = stablehlo.custom_call @target(%0) {api_version = 4 : i32, backend_config = {n = 3 : i64, name = "x"}, called_computations = [@helper], has_side_effect = true, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %14 = stablehlo.create_token : !stablehlo.token
    %15 = stablehlo.tuple %13, %14 : tuple<tensor<4x16xf32>, !stablehlo.token>
    %16 = stablehlo.get_tuple_element %15[0] : (tuple<tensor<4x16xf32>, !stablehlo.token>) -> tensor<4x16xf32>
    %17 = stablehlo.composite "chlo.thing" %16 {composite_attributes = {flag, n = 1 : i32}, decomposition = @helper, version = 2 : i32} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %18 = call @helper(%17) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    return %18, %12#1 : tensor<4x16xf32>, tensor<4xf32>
  }
  func.func private @helper(%arg0: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = chlo.erf %arg0 : tensor<4x16xf32> -> tensor<4x16xf32>
    %values, %indices = chlo.top_k(%0, k = 8) : tensor<4x16xf32> -> (tensor<4x8xf32>, tensor<4x8xi32>)
    %1 = chlo.broadcast_compare %0, %arg0 {compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction GE>} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    return %0 : tensor<4x16xf32>
  }
  func.func private @declared(tensor<?x4xf32, #stablehlo.bounds<8, ?>>, tensor<*xf32>) -> tensor<?x?xi32>
}
