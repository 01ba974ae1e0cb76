// RUN: shardc opt %s --passes decompose | FileCheck %s

// If the result type is static, its shape is known whatever the operand is.
// CHECK-LABEL: func.func @shapes
// CHECK: stablehlo.broadcast_in_dim %arg0, dims = [1, 2] : (tensor<6x5xf32>) -> tensor<2x6x5xf32>
// CHECK: stablehlo.reshape %arg0 : (tensor<6x5xf32>) -> tensor<30xf32>
// CHECK: stablehlo.iota dim = 1 : tensor<3x8xi32>
// CHECK: "stablehlo.gather"(%arg0, %arg4) {{.*}}slice_sizes = array<i64: 1, 3>
// CHECK: stablehlo.constant dense<6> : tensor<i32>
func.func @shapes(%a: tensor<6x5xf32>, %s: tensor<3xi32>, %one: tensor<1xi32>, %two: tensor<2xi32>, %i: tensor<7x1xi32>) -> (tensor<2x6x5xf32>, tensor<30xf32>, tensor<3x8xi32>, tensor<7x3xf32>, tensor<i32>) {
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [1, 2] : (tensor<6x5xf32>, tensor<3xi32>) -> tensor<2x6x5xf32>
  %1 = stablehlo.dynamic_reshape %a, %one : (tensor<6x5xf32>, tensor<1xi32>) -> tensor<30xf32>
  %2 = stablehlo.dynamic_iota %two, dim = 1 : (tensor<2xi32>) -> tensor<3x8xi32>
  %3 = "stablehlo.dynamic_gather"(%a, %i, %two) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>}> : (tensor<6x5xf32>, tensor<7x1xi32>, tensor<2xi32>) -> tensor<7x3xf32>
  %4 = stablehlo.get_dimension_size %a, dim = 0 : (tensor<6x5xf32>) -> tensor<i32>
  return %0, %1, %2, %3, %4 : tensor<2x6x5xf32>, tensor<30xf32>, tensor<3x8xi32>, tensor<7x3xf32>, tensor<i32>
}

// Paddings and bounds that follow from constants.
// CHECK-LABEL: func.func @constants
// CHECK: stablehlo.pad %arg0, %{{.*}}, low = [1, 1], high = [6, 0], interior = [0, 0]
// CHECK: stablehlo.slice %arg0 [1:6:2, 1:5:2]
func.func @constants(%a: tensor<6x5xf32>, %v: tensor<f32>) -> (tensor<13x6xf32>, tensor<3x2xf32>) {
  %one = stablehlo.constant dense<1> : tensor<2xi32>
  %two = stablehlo.add %one, %one : tensor<2xi32>
  %none = stablehlo.constant dense<0> : tensor<1xi32>
  %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<6x5xf32>) -> tensor<i32>
  %m = stablehlo.get_dimension_size %a, dim = 1 : (tensor<6x5xf32>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %m1 = stablehlo.reshape %m : (tensor<i32>) -> tensor<1xi32>
  %high = stablehlo.concatenate %n1, %none, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %limit = stablehlo.concatenate %n1, %m1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %zero = stablehlo.subtract %one, %one : tensor<2xi32>
  %0 = stablehlo.dynamic_pad %a, %v, %one, %high, %zero : (tensor<6x5xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<13x6xf32>
  %1 = stablehlo.real_dynamic_slice %a, %one, %limit, %two : (tensor<6x5xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<3x2xf32>
  return %0, %1 : tensor<13x6xf32>, tensor<3x2xf32>
}

// A slice of stride one starts where the operand says.
// CHECK-LABEL: func.func @at
// CHECK: %[[SLICE:.*]] = stablehlo.slice %arg1 [0:1]
// CHECK: %[[START:.*]] = stablehlo.reshape %[[SLICE]] : (tensor<1xi32>) -> tensor<i32>
// CHECK: stablehlo.dynamic_slice %arg0, %[[START]], sizes = [3]
func.func @at(%a: tensor<6xf32>, %from: tensor<1xi32>, %to: tensor<1xi32>) -> tensor<3xf32> {
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %0 = stablehlo.real_dynamic_slice %a, %from, %to, %one : (tensor<6xf32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<3xf32>
  return %0 : tensor<3xf32>
}

// Not decomposed: values known only at run time, and paddings that do not give the result type.
// CHECK-LABEL: func.func @stays
// CHECK: stablehlo.dynamic_reshape
// CHECK: stablehlo.dynamic_pad
// CHECK: stablehlo.dynamic_pad
func.func @stays(%a: tensor<6xf32>, %s: tensor<1xi32>, %v: tensor<f32>) -> (tensor<?xf32>, tensor<9xf32>, tensor<9xf32>) {
  %none = stablehlo.constant dense<0> : tensor<1xi32>
  %two = stablehlo.constant dense<2> : tensor<1xi32>
  %four = stablehlo.add %two, %two : tensor<1xi32>
  %0 = stablehlo.dynamic_reshape %a, %s : (tensor<6xf32>, tensor<1xi32>) -> tensor<?xf32>
  %1 = stablehlo.dynamic_pad %a, %v, %s, %s, %none : (tensor<6xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<9xf32>
  %2 = stablehlo.dynamic_pad %a, %v, %four, %none, %none : (tensor<6xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<9xf32>
  return %0, %1, %2 : tensor<?xf32>, tensor<9xf32>, tensor<9xf32>
}
