// Matmuls, convolutions, Fourier transforms, factorizations.

func.func @fits(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>, %x: tensor<1x8x8x3xf32>, %k: tensor<3x3x3x16xf32>, %m: tensor<2x3x3xf32>, %v: tensor<2x3x1xf32>) {
  %0 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = [HIGH, HIGH] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %1 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 6, allow_imprecise_accumulation = false>}> : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  %2 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x8x8x3xf32>, tensor<3x3x3x16xf32>) -> tensor<1x8x8x16xf32>
  %3 = stablehlo.cholesky %m, lower = true : tensor<2x3x3xf32>
  %4 = "stablehlo.triangular_solve"(%m, %v) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<2x3x3xf32>, tensor<2x3x1xf32>) -> tensor<2x3x1xf32>
  %5 = stablehlo.fft %v, type = RFFT, length = [1] : (tensor<2x3x1xf32>) -> tensor<2x3x1xcomplex<f32>>
  return
}

// -----

func.func @dots(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>) {
  // error: SH0207 contracting dimensions of stablehlo.dot_general differ: dimension 2 of tensor<2x3x4xf32> and dimension 2 of tensor<2x4x5xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [2] x [2] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x2x4xf32>
  // error: SH0207 left batching and contracting dimensions [0, 0] of stablehlo.dot_general: dimension 0 is repeated
  %1 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [0] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  // error: SH0207 stablehlo.dot_general has 1 left and 0 right batching dimensions
  %2 = stablehlo.dot_general %a, %b, batching_dims = [0] x [], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  // error: SH0207 left batching and contracting dimensions [3] of stablehlo.dot_general must be less than the rank, 3
  %3 = stablehlo.dot_general %a, %b, contracting_dims = [3] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>
  // error: SH0207 result 0 of stablehlo.dot_general is tensor<3x2x5xf32>, expected tensor<2x3x5xf32>
  %4 = stablehlo.dot_general %a, %b, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<3x2x5xf32>
  return
}

// -----

func.func @algorithms(%a: tensor<3x4xf32>, %b: tensor<4x5xf32>) {
  // error: SH0216 stablehlo.dot_general has an algorithm that no known hardware supports: f16 of 1 components x f32 of 1, accumulated in f32 in 1 steps
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f16, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  // error: SH0216 stablehlo.dot_general has an algorithm with lhs_component_count = 0, which must be positive
  %1 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 0, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  // error: SH0216 stablehlo.dot_general has an algorithm and a precision
  %2 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>, precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>], algorithm = #stablehlo.dot_algorithm<lhs_precision_type = f32, rhs_precision_type = f32, accumulation_type = f32, lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 1, allow_imprecise_accumulation = false>}> : (tensor<3x4xf32>, tensor<4x5xf32>) -> tensor<3x5xf32>
  return
}

// -----

func.func @convolutions(%x: tensor<2x8x8x4xf32>, %k: tensor<3x3x4x16xf32>, %l: tensor<3x3x16xf32>, %i: tensor<3x3x4x16xi32>) {
  // error: SH0207 result 0 of stablehlo.convolution is tensor<2x8x8x16xf32>, expected tensor<2x6x6x16xf32>
  %0 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<2x8x8x16xf32>
  // error: SH0207 convolution of tensor<2x8x8x4xf32> with tensor<3x3x4x16xf32>: with feature_group_count 2, the kernel must have 2 input features
  %1 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 2 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<2x6x6x16xf32>
  // error: SH0207 the window of convolution must have one entry per spatial dimension (2)
  %2 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<2x6x6x16xf32>
  // error: SH0207 stride and dilations of stablehlo.convolution must be positive in window dimension 1
  %3 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {rhs_dilate = [1, 0]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<2x6x6x16xf32>
  // error: SH0207 convolution of tensor<2x8x8x4xf32> with tensor<3x3x16xf32>: the ranks must be equal and at least 2
  %4 = "stablehlo.convolution"(%x, %l) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x16xf32>) -> tensor<2x6x6x16xf32>
  // error: SH0207 convolution of tensor<2x8x8x4xf32> with tensor<3x3x4x16xi32>: the element types differ
  %5 = "stablehlo.convolution"(%x, %i) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x8x4xf32>, tensor<3x3x4x16xi32>) -> tensor<2x6x6x16xf32>
  // error: SH0207 convolution with feature_group_count 2 and batch_group_count 2: both must be positive, and one must be 1
  %6 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 2 : i64, feature_group_count = 2 : i64} : (tensor<2x8x8x4xf32>, tensor<3x3x4x16xf32>) -> tensor<1x6x6x16xf32>
  return
}

// -----

func.func @transforms(%a: tensor<4x8xf32>, %z: tensor<4x8xcomplex<f32>>, %m: tensor<3x4xf32>, %s: tensor<3x3xf32>, %v: tensor<4x1xf32>) {
  // error: SH0207 FFT does not support the element type f32
  %0 = stablehlo.fft %a, type = FFT, length = [8] : (tensor<4x8xf32>) -> tensor<4x8xcomplex<f32>>
  // error: SH0207 FFT of length [9] does not match the last dimensions of tensor<4x8xcomplex<f32>>
  %1 = stablehlo.fft %z, type = FFT, length = [9] : (tensor<4x8xcomplex<f32>>) -> tensor<4x8xcomplex<f32>>
  // error: SH0207 result 0 of stablehlo.fft is tensor<4x8xcomplex<f32>>, expected tensor<4x5xcomplex<f32>>
  %2 = stablehlo.fft %a, type = RFFT, length = [8] : (tensor<4x8xf32>) -> tensor<4x8xcomplex<f32>>
  // error: SH0207 stablehlo.cholesky expects square matrices, got tensor<3x4xf32>
  %3 = stablehlo.cholesky %m, lower = true : tensor<3x4xf32>
  // error: SH0207 triangular_solve of tensor<3x3xf32> and tensor<4x1xf32> with left_side = true: the second operand must have as many rows as the matrices of the first, and the same batch dimensions and element type
  %4 = "stablehlo.triangular_solve"(%s, %v) <{left_side = true, lower = true, transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = false}> : (tensor<3x3xf32>, tensor<4x1xf32>) -> tensor<4x1xf32>
  return
}
