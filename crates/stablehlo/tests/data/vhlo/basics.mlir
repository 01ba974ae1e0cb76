module @basics attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<8x16xf32> {jax.buffer_donor = true, mhlo.sharding = "{devices=[8,1]<=[8]}"}, %arg1: tensor<16x4xbf16> {tf.aliasing_output = 0 : i32}) -> (tensor<8x4xf32> {jax.result_info = "out"}) {
    %0 = stablehlo.convert %arg1 : (tensor<16x4xbf16>) -> tensor<16x4xf32>
    %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0], precision = [HIGH, HIGHEST] : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
    %2 = call @helper(%1) : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %2 : tensor<8x4xf32>
  }
  func.func private @helper(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = stablehlo.exponential %arg0 {some.note = [1 : i32, "two", true, {three = 3.500000e+00 : f32}]} : tensor<8x4xf32>
    %1 = stablehlo.add %0, %0 {mhlo.frontend_attributes = {a = "b"}} : tensor<8x4xf32>
    return %1 : tensor<8x4xf32>
  }
  func.func @constants() -> (tensor<f32>, tensor<2x3xi32>, tensor<9xi1>, tensor<8xi1>, tensor<2xcomplex<f32>>, tensor<3xui8>, tensor<0xi64>, tensor<5xbf16>, tensor<2xi4>) {
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<[[1, -2, 3], [4, 5, 6]]> : tensor<2x3xi32>
    %c_0 = stablehlo.constant dense<[true, false, true, true, false, false, false, false, true]> : tensor<9xi1>
    %c_1 = stablehlo.constant dense<true> : tensor<8xi1>
    %cst_2 = stablehlo.constant dense<[(1.000000e+00,-2.000000e+00), (0.000000e+00,5.000000e-01)]> : tensor<2xcomplex<f32>>
    %c_3 = stablehlo.constant dense<[0, 128, 255]> : tensor<3xui8>
    %c_4 = stablehlo.constant dense<> : tensor<0xi64>
    %cst_5 = stablehlo.constant dense<1.500000e+00> : tensor<5xbf16>
    %c_6 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
    return %cst, %c, %c_0, %c_1, %cst_2, %c_3, %c_4, %cst_5, %c_6 : tensor<f32>, tensor<2x3xi32>, tensor<9xi1>, tensor<8xi1>, tensor<2xcomplex<f32>>, tensor<3xui8>, tensor<0xi64>, tensor<5xbf16>, tensor<2xi4>
  }
  func.func @shapes(%arg0: tensor<4x6xf32>, %arg1: tensor<f32>, %arg2: tensor<i32>) -> tensor<f32> {
    %0 = stablehlo.broadcast_in_dim %arg0, dims = [0, 2] : (tensor<4x6xf32>) -> tensor<4x2x6xf32>
    %1 = stablehlo.transpose %0, dims = [2, 0, 1] : (tensor<4x2x6xf32>) -> tensor<6x4x2xf32>
    %2 = stablehlo.slice %1 [1:5:2, 0:4, 1:2] : (tensor<6x4x2xf32>) -> tensor<2x4x1xf32>
    %3 = stablehlo.reshape %2 : (tensor<2x4x1xf32>) -> tensor<8xf32>
    %4 = stablehlo.pad %3, %arg1, low = [1], high = [-1], interior = [2] : (tensor<8xf32>, tensor<f32>) -> tensor<22xf32>
    %5 = stablehlo.reverse %4, dims = [0] : tensor<22xf32>
    %6 = stablehlo.concatenate %5, %3, dim = 0 : (tensor<22xf32>, tensor<8xf32>) -> tensor<30xf32>
    %7 = stablehlo.dynamic_slice %6, %arg2, sizes = [16] : (tensor<30xf32>, tensor<i32>) -> tensor<16xf32>
    %8 = stablehlo.dynamic_update_slice %6, %7, %arg2 : (tensor<30xf32>, tensor<16xf32>, tensor<i32>) -> tensor<30xf32>
    %9 = stablehlo.iota dim = 0 : tensor<30xf32>
    %10 = stablehlo.compare GE, %8, %9, FLOAT : (tensor<30xf32>, tensor<30xf32>) -> tensor<30xi1>
    %11 = stablehlo.compare NE, %8, %9 : (tensor<30xf32>, tensor<30xf32>) -> tensor<30xi1>
    %12 = stablehlo.and %10, %11 : tensor<30xi1>
    %13 = stablehlo.select %12, %8, %9 : tensor<30xi1>, tensor<30xf32>
    %14 = stablehlo.reduce_precision %13, format = e8m7 : tensor<30xf32>
    %15 = stablehlo.reduce(%14 init: %arg1) applies stablehlo.add across dimensions = [0] : (tensor<30xf32>, tensor<f32>) -> tensor<f32>
    return %15 : tensor<f32>
  }
  func.func @windows(%arg0: tensor<1x8x8x4xf32>, %arg1: tensor<3x3x4x8xf32>, %arg2: tensor<f32>, %arg3: tensor<1x4x4x4xf32>) -> (tensor<1x8x8x8xf32>, tensor<1x4x4x8xf32>, tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>) {
    %0 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x8x8x8xf32>
    %1 = stablehlo.convolution(%arg0, %arg1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[0, 2], [0, 2]], reverse = [true, false]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]} : (tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>) -> tensor<1x4x4x8xf32>
    %2 = "stablehlo.reduce_window"(%arg0, %arg2) <{padding = dense<[[0, 0], [1, 1], [1, 1], [0, 0]]> : tensor<4x2xi64>, window_dimensions = array<i64: 1, 3, 3, 1>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %4 = stablehlo.maximum %arg4, %arg5 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<1x8x8x4xf32>, tensor<f32>) -> tensor<1x8x8x4xf32>
    %3 = "stablehlo.select_and_scatter"(%arg0, %arg3, %arg2) <{window_dimensions = array<i64: 1, 2, 2, 1>, window_strides = array<i64: 1, 2, 2, 1>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %4 = stablehlo.compare GE, %arg4, %arg5 : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }, {
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %4 = stablehlo.add %arg4, %arg5 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }) : (tensor<1x8x8x4xf32>, tensor<1x4x4x4xf32>, tensor<f32>) -> tensor<1x8x8x4xf32>
    return %0, %1, %2, %3 : tensor<1x8x8x8xf32>, tensor<1x4x4x8xf32>, tensor<1x8x8x4xf32>, tensor<1x8x8x4xf32>
  }
  func.func @indexed(%arg0: tensor<10x20xf32>, %arg1: tensor<5x1xi32>, %arg2: tensor<5x20xf32>) -> (tensor<5x20xf32>, tensor<10x20xf32>, tensor<10x20xf32>, tensor<10x20xi32>) {
    %0 = "stablehlo.gather"(%arg0, %arg1) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = true, slice_sizes = array<i64: 1, 20>}> : (tensor<10x20xf32>, tensor<5x1xi32>) -> tensor<5x20xf32>
    %1 = "stablehlo.scatter"(%arg0, %arg1, %arg2) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<10x20xf32>, tensor<5x1xi32>, tensor<5x20xf32>) -> tensor<10x20xf32>
    %2 = stablehlo.iota dim = 1 : tensor<10x20xi32>
    %3:2 = "stablehlo.sort"(%arg0, %2) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg3: tensor<f32>, %arg4: tensor<f32>, %arg5: tensor<i32>, %arg6: tensor<i32>):
      %4 = stablehlo.compare LT, %arg3, %arg4, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    }) : (tensor<10x20xf32>, tensor<10x20xi32>) -> (tensor<10x20xf32>, tensor<10x20xi32>)
    return %0, %1, %3#0, %3#1 : tensor<5x20xf32>, tensor<10x20xf32>, tensor<10x20xf32>, tensor<10x20xi32>
  }
  func.func @control(%arg0: tensor<i32>, %arg1: tensor<4xf32>, %arg2: tensor<i1>) -> tensor<4xf32> {
    %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<4xf32>
    cond {
      %c = stablehlo.constant dense<10> : tensor<i32>
      %3 = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %c = stablehlo.constant dense<1> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c : tensor<i32>
      %4 = stablehlo.sine %iterArg_0 : tensor<4xf32>
      stablehlo.return %3, %4 : tensor<i32>, tensor<4xf32>
    }
    %1 = "stablehlo.if"(%arg2) ({
      stablehlo.return %arg1 : tensor<4xf32>
    }, {
      stablehlo.return %0#1 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %2 = "stablehlo.case"(%arg0) ({
      stablehlo.return %arg1 : tensor<4xf32>
    }, {
      %3 = stablehlo.negate %1 : tensor<4xf32>
      stablehlo.return %3 : tensor<4xf32>
    }) : (tensor<i32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
  func.func @collectives(%arg0: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<16x8xf32>, tensor<4x8xf32>, tensor<16x4xf32>, tensor<8x8xf32>) {
    %0 = "stablehlo.all_reduce"(%arg0) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %5 = stablehlo.add %arg1, %arg2 : tensor<f32>
      stablehlo.return %5 : tensor<f32>
    }) : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %1 = "stablehlo.all_gather"(%0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<8x8xf32>) -> tensor<16x8xf32>
    %2 = "stablehlo.reduce_scatter"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 0>, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
    ^bb0(%arg1: tensor<f32>, %arg2: tensor<f32>):
      %5 = stablehlo.maximum %arg1, %arg2 : tensor<f32>
      stablehlo.return %5 : tensor<f32>
    }) : (tensor<8x8xf32>) -> tensor<4x8xf32>
    %3 = "stablehlo.all_to_all"(%0) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 1 : i64}> : (tensor<8x8xf32>) -> tensor<16x4xf32>
    %4 = "stablehlo.collective_permute"(%0) <{channel_handle = #stablehlo.channel_handle<handle = 3, type = 0>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %4, %1, %2, %3, %0 : tensor<8x8xf32>, tensor<16x8xf32>, tensor<4x8xf32>, tensor<16x4xf32>, tensor<8x8xf32>
  }
  func.func @calls(%arg0: tensor<4xf32>) -> (tensor<4xf32>, tuple<tensor<4xf32>, tensor<i32>>) {
    %0 = stablehlo.custom_call @plain(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1:2 = stablehlo.custom_call @full(%0, %arg0) {api_version = 2 : i32, backend_config = "\08\03", called_computations = [@helper], has_side_effect = true, operand_layouts = [dense<0> : tensor<1xindex>, dense<0> : tensor<1xindex>], output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 1, operand_tuple_indices = []>], result_layouts = [dense<0> : tensor<1xindex>, dense<> : tensor<0xindex>]} : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<i32>)
    %2 = stablehlo.tuple %1#0, %1#1 : tuple<tensor<4xf32>, tensor<i32>>
    %3 = stablehlo.get_tuple_element %2[0] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<4xf32>
    return %3, %2 : tensor<4xf32>, tuple<tensor<4xf32>, tensor<i32>>
  }
  func.func @tokens(%arg0: tensor<4xf32>, %arg1: !stablehlo.token) -> (tensor<4xf32>, !stablehlo.token) {
    %0 = stablehlo.after_all %arg1 : !stablehlo.token
    %1 = "stablehlo.send"(%arg0, %0) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 2>, is_host_transfer = true}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %2:2 = "stablehlo.recv"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 1>}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    %3:2 = "stablehlo.infeed"(%2#1) <{infeed_config = ""}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    %4 = "stablehlo.outfeed"(%3#0, %3#1) <{outfeed_config = "out"}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    return %2#0, %4 : tensor<4xf32>, !stablehlo.token
  }
  func.func @linear(%arg0: tensor<4x4xf32>, %arg1: tensor<8xcomplex<f32>>, %arg2: tensor<2xui64>) -> (tensor<4x4xf32>, tensor<8xcomplex<f32>>, tensor<2xui64>, tensor<8xui32>) {
    %0 = stablehlo.cholesky %arg0, lower = true : tensor<4x4xf32>
    %1 = "stablehlo.triangular_solve"(%0, %arg0) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %2 = stablehlo.fft %arg1, type = IFFT, length = [8] : (tensor<8xcomplex<f32>>) -> tensor<8xcomplex<f32>>
    %output_state, %output = stablehlo.rng_bit_generator %arg2, algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8xui32>)
    return %1, %2, %output_state, %output : tensor<4x4xf32>, tensor<8xcomplex<f32>>, tensor<2xui64>, tensor<8xui32>
  }
  func.func @dynamic(%arg0: tensor<?x4xf32, #stablehlo.bounds<16, ?>>, %arg1: tensor<i32>, %arg2: tensor<2xi32>) -> (tensor<?x4xf32>, tensor<i32>) {
    %0 = stablehlo.set_dimension_size %arg0, %arg1, dim = 0 : (tensor<?x4xf32, #stablehlo.bounds<16, ?>>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<16, ?>>
    %1 = stablehlo.get_dimension_size %0, dim = 0 : (tensor<?x4xf32, #stablehlo.bounds<16, ?>>) -> tensor<i32>
    %2 = stablehlo.dynamic_iota %arg2, dim = 1 : (tensor<2xi32>) -> tensor<?x4xf32>
    return %2, %1 : tensor<?x4xf32>, tensor<i32>
  }
  func.func @quantized(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.uniform_quantize %arg0 : (tensor<4xf32>) -> tensor<4x!quant.uniform<u8<1:200>:f32, 5.000000e-01:7>>
    %1 = stablehlo.uniform_dequantize %0 : (tensor<4x!quant.uniform<u8<1:200>:f32, 5.000000e-01:7>>) -> tensor<4xf32>
    %2 = stablehlo.uniform_quantize %1 : (tensor<4xf32>) -> tensor<4x!quant.uniform<i8:f32, 1.250000e-01>>
    %3 = stablehlo.uniform_dequantize %2 : (tensor<4x!quant.uniform<i8:f32, 1.250000e-01>>) -> tensor<4xf32>
    return %3 : tensor<4xf32>
  }
  func.func @norms(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) -> tensor<2x3xf32> {
    %output, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%arg0, %arg1, %arg1) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>)
    %0 = "stablehlo.batch_norm_inference"(%output, %arg1, %arg1, %batch_mean, %batch_var) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    return %0 : tensor<2x3xf32>
  }
}
