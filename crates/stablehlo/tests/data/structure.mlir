module @structure attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<2x3x4xf32> {jax.buffer_donor = true, mhlo.sharding = "{devices=[2,1,1]0,1}", tf.aliasing_output = 0 : i32}, %arg1: tensor<i32>, %arg2: tensor<f32>) -> (tensor<2x3x4xf32> {jax.result_info = "result[0]['w']"}, tensor<2x4xf32>) attributes {execution_thread = "main"} {
    %0 = stablehlo.broadcast_in_dim %arg2, dims = [] : (tensor<f32>) -> tensor<2x3xf32>
    %1 = stablehlo.reshape %arg0 : (tensor<2x3x4xf32>) -> tensor<6x4xf32>
    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<6x4xf32>) -> tensor<4x6xf32>
    %3 = stablehlo.reverse %2, dims = [0, 1] : tensor<4x6xf32>
    %4 = stablehlo.slice %3 [0:4:2, 1:5] : (tensor<4x6xf32>) -> tensor<2x4xf32>
    %5 = stablehlo.dynamic_slice %arg0, %arg1, %arg1, %arg1, sizes = [1, 2, 3] : (tensor<2x3x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x2x3xf32>
    %6 = stablehlo.dynamic_update_slice %arg0, %5, %arg1, %arg1, %arg1 : (tensor<2x3x4xf32>, tensor<1x2x3xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x3x4xf32>
    %7 = stablehlo.concatenate %4, %4, %4, dim = 0 : (tensor<2x4xf32>, tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<6x4xf32>
    %8 = stablehlo.pad %4, %arg2, low = [0, -1], high = [1, 0], interior = [0, 2] : (tensor<2x4xf32>, tensor<f32>) -> tensor<3x9xf32>
    %9 = stablehlo.iota dim = 1 : tensor<2x4xi64>
    %10 = stablehlo.dot_general %arg0, %arg0, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<2x3x4xf32>, tensor<2x3x4xf32>) -> tensor<2x3x3xf32>
    %11 = stablehlo.dot_general %7, %4, contracting_dims = [1] x [1], precision = [DEFAULT, HIGHEST] : (tensor<6x4xf32>, tensor<2x4xf32>) -> tensor<6x2xf32>
    %12 = stablehlo.dot_general %7, %4, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT], algorithm = <lhs_precision_type = tf32, rhs_precision_type = tf32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false> : (tensor<6x4xf32>, tensor<2x4xf32>) -> tensor<6x2xf32>
    %13 = stablehlo.cholesky %10, lower = true : tensor<2x3x3xf32>
    %14 = stablehlo.cholesky %10 : tensor<2x3x3xf32>
    %15 = "stablehlo.triangular_solve"(%13, %14) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    %16 = stablehlo.optimization_barrier %arg0 : tensor<2x3x4xf32>
    %17:2 = stablehlo.optimization_barrier %arg0, %arg1 : tensor<2x3x4xf32>, tensor<i32>
    %18 = stablehlo.tuple %arg0, %arg1 : tuple<tensor<2x3x4xf32>, tensor<i32>>
    %19 = stablehlo.get_tuple_element %18[1] : (tuple<tensor<2x3x4xf32>, tensor<i32>>) -> tensor<i32>
    %20 = stablehlo.after_all  : !stablehlo.token
    %21 = stablehlo.after_all %20, %20 : !stablehlo.token
    %22:2 = call @pair(%arg0, %19) : (tensor<2x3x4xf32>, tensor<i32>) -> (tensor<2x3x4xf32>, tensor<2x4xf32>)
    call @nothing() {mhlo.frontend_attributes = {}} : () -> ()
    %23 = stablehlo.custom_call @Sharding(%22#0) {backend_config = "", mhlo.sharding = "{replicated}"} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %24:2 = stablehlo.custom_call @"odd name"(%23) {api_version = 4 : i32, backend_config = {a = 1 : i64, b = [true, 2.500000e-01 : f32]}, called_computations = [@nothing], has_side_effect = true, operand_layouts = [dense<[0, 1, 2]> : tensor<3xindex>], result_layouts = [dense<[0, 1, 2]> : tensor<3xindex>, dense<> : tensor<0xindex>]} : (tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<i32>)
    stablehlo.custom_call @sink(%24#1) {has_side_effect = true} : (tensor<i32>) -> ()
    %c = stablehlo.constant dense<1> : tensor<2xui64>
    %output_state, %output = stablehlo.rng_bit_generator %c, algorithm = PHILOX : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %output_state_0, %output_1 = stablehlo.rng_bit_generator %output_state, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<4xui32>)
    %25 = stablehlo.fft %arg0, type = RFFT, length = [4] : (tensor<2x3x4xf32>) -> tensor<2x3x3xcomplex<f32>>
    return %24#0, %22#1 : tensor<2x3x4xf32>, tensor<2x4xf32>
  }
  func.func private @pair(tensor<2x3x4xf32>, tensor<i32> {a.b}) -> (tensor<2x3x4xf32>, tensor<2x4xf32> {c.d = 1 : i32})
  func.func private @nothing() {
    return
  }
}
