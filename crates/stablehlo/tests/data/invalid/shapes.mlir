// Operations that move elements, and constants.

func.func @fits(%a: tensor<2x6xf32>, %b: tensor<?x6xf32>, %v: tensor<f32>, %i: tensor<i32>) {
  %0 = stablehlo.reshape %a : (tensor<2x6xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.broadcast_in_dim %a, dims = [2, 1] : (tensor<2x6xf32>) -> tensor<5x6x2xf32>
  %2 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x6xf32>) -> tensor<6x2xf32>
  %3 = stablehlo.slice %a [0:2, 1:6:2] : (tensor<2x6xf32>) -> tensor<2x3xf32>
  %4 = stablehlo.pad %a, %v, low = [1, -1], high = [0, 0], interior = [0, 1] : (tensor<2x6xf32>, tensor<f32>) -> tensor<3x10xf32>
  %5 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
  %6 = stablehlo.iota dim = 1 : tensor<2x6xi32>
  %7 = stablehlo.dynamic_slice %a, %i, %i, sizes = [1, 6] : (tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
  %8 = stablehlo.bitcast_convert %a : (tensor<2x6xf32>) -> tensor<2x6x4xi8>
  return
}

// -----

func.func @reshapes(%a: tensor<2x6xf32>) {
  // error: SH0207 reshape of tensor<2x6xf32> gives tensor<3x5xf32>: the number of elements changes from 12 to 15
  %0 = stablehlo.reshape %a : (tensor<2x6xf32>) -> tensor<3x5xf32>
  // error: SH0207 reshape of tensor<2x6xf32> gives tensor<3x4xf64>: the element type must not change
  %1 = stablehlo.reshape %a : (tensor<2x6xf32>) -> tensor<3x4xf64>
  // error: SH0207 stablehlo.reshape gives tensor<?x4xf32>, whose shape is dynamic (stablehlo.dynamic_reshape takes the shape as an operand)
  %2 = stablehlo.reshape %a : (tensor<2x6xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @broadcasts(%a: tensor<4xf32>, %b: tensor<1x1xf32>) {
  // error: SH0207 stablehlo.broadcast_in_dim of tensor<4xf32> to tensor<3x4xf32>: operand dimension 0 of size 4 cannot be broadcast to result dimension 0 of size 3
  %0 = stablehlo.broadcast_in_dim %a, dims = [0] : (tensor<4xf32>) -> tensor<3x4xf32>
  // error: SH0207 dimensions [2] of stablehlo.broadcast_in_dim must be less than the rank, 2
  %1 = stablehlo.broadcast_in_dim %a, dims = [2] : (tensor<4xf32>) -> tensor<3x4xf32>
  // error: SH0207 stablehlo.broadcast_in_dim of tensor<4xf32> along dimensions [0, 1] gives tensor<4x4xf32>: each operand dimension needs one entry, and the element type must not change
  %2 = stablehlo.broadcast_in_dim %a, dims = [0, 1] : (tensor<4xf32>) -> tensor<4x4xf32>
  // error: SH0207 dimensions [1, 1] of stablehlo.broadcast_in_dim: dimension 1 is repeated
  %3 = stablehlo.broadcast_in_dim %b, dims = [1, 1] : (tensor<1x1xf32>) -> tensor<3x4xf32>
  // error: SH0207 stablehlo.broadcast_in_dim gives tensor<?x4xf32>, whose shape is dynamic (stablehlo.dynamic_broadcast_in_dim takes the shape as an operand)
  %4 = stablehlo.broadcast_in_dim %a, dims = [1] : (tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @orders(%a: tensor<2x6xf32>) {
  // error: SH0207 permutation [0, 0] of stablehlo.transpose: dimension 0 is repeated
  %0 = stablehlo.transpose %a, dims = [0, 0] : (tensor<2x6xf32>) -> tensor<2x2xf32>
  // error: SH0207 permutation [1] of transpose must have one entry per dimension of tensor<2x6xf32>
  %1 = stablehlo.transpose %a, dims = [1] : (tensor<2x6xf32>) -> tensor<6xf32>
  // error: SH0207 result 0 of stablehlo.transpose is tensor<2x6xf32>, expected tensor<6x2xf32>
  %2 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x6xf32>) -> tensor<2x6xf32>
  // error: SH0207 dimensions [0, 2] of stablehlo.reverse must be less than the rank, 2
  %3 = stablehlo.reverse %a, dims = [0, 2] : tensor<2x6xf32>
  return
}

// -----

func.func @slices(%a: tensor<2x6xf32>, %i: tensor<i32>, %j: tensor<i64>, %u: tensor<3x6xf32>) {
  // error: SH0207 slice [0:3:1] of dimension 0 is invalid for tensor<2x6xf32>
  %0 = stablehlo.slice %a [0:3, 0:6] : (tensor<2x6xf32>) -> tensor<3x6xf32>
  // error: SH0207 slice [4:2:1] of dimension 1 is invalid for tensor<2x6xf32>
  %1 = stablehlo.slice %a [0:2, 4:2] : (tensor<2x6xf32>) -> tensor<2x0xf32>
  // error: SH0207 slice [0:6:0] of dimension 1 is invalid for tensor<2x6xf32>
  %2 = stablehlo.slice %a [0:2, 0:6:0] : (tensor<2x6xf32>) -> tensor<2x6xf32>
  // error: SH0207 the bounds of slice must have one entry per dimension of tensor<2x6xf32>
  %3 = stablehlo.slice %a [0:2] : (tensor<2x6xf32>) -> tensor<2x6xf32>
  // error: SH0207 stablehlo.dynamic_slice needs 2 start indices for a tensor of rank 2, got 1
  %4 = stablehlo.dynamic_slice %a, %i, sizes = [1, 6] : (tensor<2x6xf32>, tensor<i32>) -> tensor<1x6xf32>
  // error: SH0207 start indices of stablehlo.dynamic_slice have different types: tensor<i32> and tensor<i64>
  %5 = stablehlo.dynamic_slice %a, %i, %j, sizes = [1, 6] : (tensor<2x6xf32>, tensor<i32>, tensor<i64>) -> tensor<1x6xf32>
  // error: SH0207 slice sizes [3, 6] of dynamic_slice do not fit tensor<2x6xf32>
  %6 = stablehlo.dynamic_slice %a, %i, %i, sizes = [3, 6] : (tensor<2x6xf32>, tensor<i32>, tensor<i32>) -> tensor<3x6xf32>
  // error: SH0207 the update tensor<3x6xf32> of dynamic_update_slice must have the rank and element type of tensor<2x6xf32>, and must not be larger
  %7 = stablehlo.dynamic_update_slice %a, %u, %i, %i : (tensor<2x6xf32>, tensor<3x6xf32>, tensor<i32>, tensor<i32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @pads(%a: tensor<2x6xf32>, %v: tensor<f32>, %w: tensor<i32>, %x: tensor<1xf32>) {
  // error: SH0207 pad of tensor<2x6xf32> with a value of type tensor<i32>: the element types differ
  %0 = stablehlo.pad %a, %w, low = [0, 0], high = [0, 0], interior = [0, 0] : (tensor<2x6xf32>, tensor<i32>) -> tensor<2x6xf32>
  // error: SH0207 operand 1 of stablehlo.pad must be a scalar, got tensor<1xf32>
  %1 = "stablehlo.pad"(%a, %x) <{edge_padding_low = array<i64: 0, 0>, edge_padding_high = array<i64: 0, 0>, interior_padding = array<i64: 0, 0>}> : (tensor<2x6xf32>, tensor<1xf32>) -> tensor<2x6xf32>
  // error: SH0207 the padding of pad must have one entry per dimension of tensor<2x6xf32>
  %2 = stablehlo.pad %a, %v, low = [0], high = [0], interior = [0] : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x6xf32>
  // error: SH0207 interior padding -1 of dimension 1 is negative
  %3 = stablehlo.pad %a, %v, low = [0, 0], high = [0, 0], interior = [0, -1] : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x6xf32>
  // error: SH0207 pad of tensor<2x6xf32> leaves dimension 0 with a negative size (-1)
  %4 = stablehlo.pad %a, %v, low = [-3, 0], high = [0, 0], interior = [0, 0] : (tensor<2x6xf32>, tensor<f32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @joins(%a: tensor<2x6xf32>, %b: tensor<3x5xf32>, %c: tensor<2x6xi32>) {
  // error: SH0207 concatenate of tensor<2x6xf32> and tensor<3x5xf32> (operand 1): the sizes of dimension 1 differ
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<2x6xf32>, tensor<3x5xf32>) -> tensor<5x6xf32>
  // error: SH0207 dimension 2 of concatenate is out of range for tensor<2x6xf32>
  %1 = stablehlo.concatenate %a, %a, dim = 2 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<2x12xf32>
  // error: SH0207 concatenate of tensor<2x6xf32> and tensor<2x6xi32> (operand 1): the element types or the ranks differ
  %2 = stablehlo.concatenate %a, %c, dim = 0 : (tensor<2x6xf32>, tensor<2x6xi32>) -> tensor<4x6xf32>
  // error: SH0207 result 0 of stablehlo.concatenate is tensor<3x6xf32>, expected tensor<4x6xf32>
  %3 = stablehlo.concatenate %a, %a, dim = 0 : (tensor<2x6xf32>, tensor<2x6xf32>) -> tensor<3x6xf32>
  return
}

// -----

func.func @makers(%a: tensor<2xf32>) {
  // error: SH0207 dimension 2 of iota is out of range for tensor<2x6xi32>
  %0 = stablehlo.iota dim = 2 : tensor<2x6xi32>
  // error: SH0207 iota does not support the element type i1
  %1 = stablehlo.iota dim = 0 : tensor<2xi1>
  // error: SH0207 iota gives tensor<?xi32>, whose shape is dynamic (stablehlo.dynamic_iota takes the shape as an operand)
  %2 = stablehlo.iota dim = 0 : tensor<?xi32>
  // error: SH0207 bitcast_convert of tensor<2xf32> gives tensor<2x3xi8>: for 32-bit to 8-bit elements, the result must have an additional last dimension of size 4
  %3 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<2x3xi8>
  // error: SH0207 bitcast_convert of tensor<2xf32> gives tensor<complex<f32>>: one is complex, the other is not
  %4 = stablehlo.bitcast_convert %a : (tensor<2xf32>) -> tensor<complex<f32>>
  // error: SH0207 convert of tensor<2xf32> gives tensor<3xi32>: the shape must not change
  %5 = stablehlo.convert %a : (tensor<2xf32>) -> tensor<3xi32>
  return
}
