"builtin.module"() <{sym_name = "structure"}> ({
  "func.func"() <{arg_attrs = [{jax.buffer_donor = true, mhlo.sharding = "{devices=[2,1,1]0,1}", tf.aliasing_output = 0 : i32}, {}, {}], function_type = (tensor<2x3x4xf32>, tensor<i32>, tensor<f32>) -> (tensor<2x3x4xf32>, tensor<2x4xf32>), res_attrs = [{jax.result_info = "result[0]['w']"}, {}], sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg0: tensor<2x3x4xf32>, %arg1: tensor<i32>, %arg2: tensor<f32>):
    %0 = "stablehlo.broadcast_in_dim"(%arg2) <{broadcast_dimensions = array<i64>}> : (tensor<f32>) -> tensor<2x3xf32>
    %1 = "stablehlo.reshape"(%arg0) : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
    %2 = "stablehlo.transpose"(%1) <{permutation = array<i64: 1, 0>}> : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %3 = "stablehlo.reverse"(%2) <{dimensions = array<i64: 0, 1>}> : (tensor<4x6xf32>) -> tensor<4x6xf32>
    %4 = "stablehlo.slice"(%3) <{limit_indices = array<i64: 4, 5>, start_indices = array<i64: 0, 1>, strides = array<i64: 2, 1>}> : (tensor<4x6xf32>) -> tensor<2x4xf32>
    %5 = "stablehlo.dynamic_slice"(%arg0, %arg1, %arg1, %arg1) <{slice_sizes = array<i64: 1, 2, 3>}> : (tensor<2x3x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
    %6 = "stablehlo.dynamic_update_slice"(%arg0, %5, %arg1, %arg1, %arg1) : (tensor<2x3x4xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x4xf32>
    %7 = "stablehlo.concatenate"(%4, %4, %4) <{dimension = 0 : i64}> : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<6x4xf32>
    %8 = "stablehlo.pad"(%4, %arg2) <{edge_padding_high = array<i64: 1, 0>, edge_padding_low = array<i64: 0, -1>, interior_padding = array<i64: 0, 2>}> : (tensor<2x4xf32>, tensor<f32>) -> tensor<3x9xf32>
    %9 = "stablehlo.iota"() <{iota_dimension = 1 : i64}> : () -> tensor<2x4xi64>
    %10 = "stablehlo.dot_general"(%arg0, %arg0) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [2]>}> : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>
    %11 = "stablehlo.dot_general"(%7, %4) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGHEST>]}> : (tensor<6x4xf32>, tensor<2x4xf32>) -> tensor<6x2xf32>
    %12 = "stablehlo.dot_general"(%7, %4) <{algorithm = #stablehlo.dot_algorithm<lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>, dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1]>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]}> : (tensor<6x4xf32>, tensor<2x4xf32>) -> tensor<6x2xf32>
    %13 = "stablehlo.cholesky"(%10) <{lower = true}> : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    %14 = "stablehlo.cholesky"(%10) : (tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    %15 = "stablehlo.triangular_solve"(%13, %14) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    %16 = "stablehlo.optimization_barrier"(%arg0) : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %17:2 = "stablehlo.optimization_barrier"(%arg0, %arg1) : (tensor<2x3x4xf32>, tensor<i32>) -> (tensor<2x3x4xf32>, tensor<i32>)
    %18 = "stablehlo.tuple"(%arg0, %arg1) : (tensor<2x3x4xf32>, tensor<i32>) -> tuple<tensor<2x3x4xf32>, tensor<i32>>
    %19 = "stablehlo.get_tuple_element"(%18) <{index = 1 : i32}> : (tuple<tensor<2x3x4xf32>, tensor<i32>>) -> tensor<i32>
    %20 = "stablehlo.after_all"() : () -> !stablehlo.token
    %21 = "stablehlo.after_all"(%20, %20) : (!stablehlo.token, !stablehlo.token) -> !stablehlo.token
    %22:2 = "func.call"(%arg0, %19) <{callee = @pair}> : (tensor<2x3x4xf32>, tensor<i32>) -> (tensor<2x3x4xf32>, tensor<2x4xf32>)
    "func.call"() <{callee = @nothing}> {mhlo.frontend_attributes = {}} : () -> ()
    %23 = "stablehlo.custom_call"(%22#0) <{backend_config = "", call_target_name = "Sharding"}> {mhlo.sharding = "{replicated}"} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %24:2 = "stablehlo.custom_call"(%23) <{api_version = 4 : i32, backend_config = {a = 1 : i64, b = [true, 2.500000e-01 : f32]}, call_target_name = "odd name", called_computations = [@nothing], has_side_effect = true, operand_layouts = [dense<[0, 1, 2]> : tensor<3xindex>], result_layouts = [dense<[0, 1, 2]> : tensor<3xindex>, dense<> : tensor<0xindex>]}> : (tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<i32>)
    "stablehlo.custom_call"(%24#1) <{call_target_name = "sink", has_side_effect = true}> : (tensor<i32>) -> ()
    %25 = "stablehlo.constant"() <{value = dense<1> : tensor<2xui64>}> : () -> tensor<2xui64>
    %26:2 = "stablehlo.rng_bit_generator"(%25) <{rng_algorithm = #stablehlo<rng_algorithm PHILOX>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %27:2 = "stablehlo.rng_bit_generator"(%26#0) <{rng_algorithm = #stablehlo<rng_algorithm DEFAULT>}> : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %28 = "stablehlo.fft"(%arg0) <{fft_length = array<i64: 4>, fft_type = #stablehlo<fft_type RFFT>}> : (tensor<2x3x4xf32>) -> tensor<2x3x3xcomplex<f32>>
    "func.return"(%24#0, %22#1) : (tensor<2x3x4xf32>, tensor<2x4xf32>) -> ()
  }) {execution_thread = "main"} : () -> ()
  "func.func"() <{arg_attrs = [{}, {a.b}], function_type = (tensor<2x3x4xf32>, tensor<i32>) -> (tensor<2x3x4xf32>, tensor<2x4xf32>), res_attrs = [{}, {c.d = 1 : i32}], sym_name = "pair", sym_visibility = "private"}> ({
  }) : () -> ()
  "func.func"() <{function_type = () -> (), sym_name = "nothing", sym_visibility = "private"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
}) {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} : () -> ()
