// Operations of the chlo dialect.

func.func @fits(%a: tensor<4x1xf32>, %b: tensor<3xf32>, %c: tensor<?xf32>, %g: tensor<2xi32>, %l: tensor<6x5xf32>, %r: tensor<2x5x7xf32>) {
  %0 = chlo.broadcast_add %a, %b : (tensor<4x1xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  %1 = chlo.broadcast_multiply %b, %c : (tensor<3xf32>, tensor<?xf32>) -> tensor<?xf32>
  %2:2 = chlo.top_k(%l, k = 3) : tensor<6x5xf32> -> (tensor<6x3xf32>, tensor<6x3xi32>)
  %3 = "chlo.ragged_dot"(%l, %r, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x5xf32>, tensor<2x5x7xf32>, tensor<2xi32>) -> tensor<6x7xf32>
  %4 = chlo.erf %a : tensor<4x1xf32> -> tensor<4x1xf32>
  return
}

// -----

func.func @broadcasts(%a: tensor<4x2xf32>, %b: tensor<3xf32>, %i: tensor<4x2xi32>, %p: tensor<2xf32>) {
  // error: SH0207 operand 1 of chlo.broadcast_add, tensor<3xf32>, does not broadcast with the others: size 3 of dimension 0 conflicts with 2
  %0 = chlo.broadcast_add %a, %b : (tensor<4x2xf32>, tensor<3xf32>) -> tensor<4x3xf32>
  // error: SH0207 operands of chlo.broadcast_add have different element types: tensor<4x2xf32> and tensor<4x2xi32>
  %1 = chlo.broadcast_add %a, %i : (tensor<4x2xf32>, tensor<4x2xi32>) -> tensor<4x2xf32>
  // error: SH0207 chlo.broadcast_and expects booleans, signed integers, unsigned integers, got f32
  %2 = chlo.broadcast_and %a, %a : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  // error: SH0207 result 0 of chlo.broadcast_add is tensor<4x3xf32>, expected tensor<4x2xf32>
  %3 = chlo.broadcast_add %a, %p : (tensor<4x2xf32>, tensor<2xf32>) -> tensor<4x3xf32>
  // error: SH0207 the predicate of chlo.broadcast_select must be i1, got tensor<2xf32>
  %4 = chlo.broadcast_select %p, %a, %a : (tensor<2xf32>, tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return
}

// -----

func.func @others(%a: tensor<6x5xf32>, %s: tensor<f32>, %r: tensor<2x5x7xf32>, %g: tensor<3xi32>) {
  // error: SH0207 top_k must select at most 5 values, the size of the last dimension of tensor<6x5xf32>, got 8
  %0:2 = chlo.top_k(%a, k = 8) : tensor<6x5xf32> -> (tensor<6x8xf32>, tensor<6x8xi32>)
  // error: SH0207 top_k needs an operand of at least one dimension, got tensor<f32>
  %1:2 = chlo.top_k(%s, k = 1) : tensor<f32> -> (tensor<f32>, tensor<i32>)
  // error: SH0207 ragged_dot of 3 groups: dimension 0 of tensor<2x5x7xf32> has size 2, expected 3
  %2 = "chlo.ragged_dot"(%a, %r, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<6x5xf32>, tensor<2x5x7xf32>, tensor<3xi32>) -> tensor<6x7xf32>
  // error: SH0207 ragged_dot must have one ragged dimension in its left operand, got [0, 1]
  %3 = "chlo.ragged_dot"(%a, %r, %g) <{ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0, 1], rhs_group_dimensions = [0]>}> : (tensor<6x5xf32>, tensor<2x5x7xf32>, tensor<3xi32>) -> tensor<6x7xf32>
  // error: SH0207 result 0 of chlo.constant_like is tensor<6x5xf32>, expected tensor<6x5xi32>
  %4 = "chlo.constant_like"(%a) <{value = 1 : i32}> : (tensor<6x5xf32>) -> tensor<6x5xf32>
  return
}
