// Inherent attributes of all kinds.
module @operations attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%x: tensor<4x8xf32> {jax.buffer_donor = true, mhlo.layout_mode = "default"}, %y: tensor<8x16xf32> {tf.aliasing_output = 0 : i32}, %i: tensor<i32>) -> (tensor<4x16xf32> {jax.result_info = "result[0]"}, tensor<4xf32>) attributes {mhlo.frontend_attributes = {a = "b\22c", "d e" = "\00\FF"}} {
    %dot = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<4x8xf32>, tensor<8x16xf32>) -> tensor<4x16xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %exp = stablehlo.exponential %sum {result_accuracy = #stablehlo.result_accuracy<atol = 1.0e-05, rtol = 2.0, ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4xf32>
    %log = stablehlo.log %exp {result_accuracy = #stablehlo.result_accuracy<mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : tensor<4xf32>
    %cmp = stablehlo.compare LT, %sum, %log, TOTALORDER : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xi1>
    %sel = stablehlo.select %cmp, %sum, %log : tensor<4xi1>, tensor<4xf32>
    %win = "stablehlo.reduce_window"(%x, %zero) <{window_dimensions = array<i64: 1, 2>, window_strides = array<i64: 1, 2>, padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %m = stablehlo.maximum %a, %b : tensor<f32>
      stablehlo.return %m : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x4xf32>
    %img = stablehlo.reshape %x : (tensor<4x8xf32>) -> tensor<1x4x8x1xf32>
    %ker = stablehlo.constant dense<1.0> : tensor<3x3x1x2xf32>
    %conv = stablehlo.convolution(%img, %ker) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 1], pad = [[1, 1], [1, 1]], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<1x4x8x1xf32>, tensor<3x3x1x2xf32>) -> tensor<1x2x8x2xf32>
    %ix = stablehlo.constant dense<[[0], [2]]> : tensor<2x1xi32>
    %gat = "stablehlo.gather"(%x, %ix) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<2x1xi32>) -> tensor<2x8xf32>
    %sca = "stablehlo.scatter"(%x, %ix, %gat) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<2x1xi32>, tensor<2x8xf32>) -> tensor<4x8xf32>
    %all = "stablehlo.all_reduce"(%sum) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 1>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    %loop:2 = stablehlo.while(%it = %i, %acc = %all) : tensor<i32>, tensor<4xf32>
    cond {
      %ten = stablehlo.constant dense<10> : tensor<i32>
      %go = stablehlo.compare LT, %it, %ten, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %next = stablehlo.add %it, %one : tensor<i32>
      %more = stablehlo.add %acc, %sel : tensor<4xf32>
      stablehlo.return %next, %more : tensor<i32>, tensor<4xf32>
    }
    %ui = stablehlo.constant dense<1> : tensor<2xui64>
    %st, %bits = stablehlo.rng_bit_generator %ui, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %call = stablehlo.custom_call @target(%dot) {backend_config = {n = 3 : i64, name = "x"}, api_version = 4 : i32, called_computations = [@helper], has_side_effect = true, operand_layouts = [dense<[1, 0]> : tensor<2xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %tok = stablehlo.create_token : !stablehlo.token
    %tup = stablehlo.tuple %call, %tok : tuple<tensor<4x16xf32>, !stablehlo.token>
    %get = stablehlo.get_tuple_element %tup[0] : (tuple<tensor<4x16xf32>, !stablehlo.token>) -> tensor<4x16xf32>
    %comp = stablehlo.composite "chlo.thing" %get {composite_attributes = {flag, n = 1 : i32}, decomposition = @helper, version = 2 : i32} : (tensor<4x16xf32>) -> tensor<4x16xf32>
    %done = func.call @helper(%comp) : (tensor<4x16xf32>) -> tensor<4x16xf32>
    return %done, %loop#1 : tensor<4x16xf32>, tensor<4xf32>
  }
  func.func private @helper(%a: tensor<4x16xf32>) -> tensor<4x16xf32> {
    %0 = chlo.erf %a : tensor<4x16xf32> -> tensor<4x16xf32>
    %values, %indices = chlo.top_k(%0, k = 8) : tensor<4x16xf32> -> (tensor<4x8xf32>, tensor<4x8xi32>)
    %1 = chlo.broadcast_compare %0, %a {compare_type = #chlo<comparison_type FLOAT>, comparison_direction = #chlo<comparison_direction GE>} : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xi1>
    return %0 : tensor<4x16xf32>
  }
  func.func private @declared(tensor<?x4xf32, #stablehlo.bounds<8, ?>>, tensor<*xf32>) -> tensor<?x?xi32>
}
