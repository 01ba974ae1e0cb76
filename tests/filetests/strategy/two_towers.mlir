// Pairs of images and texts, each with its own tower, as in CLIP: each tower has its own batch dimension, because all
// images are compared with all texts. Texts reach parameters only by lookup; both towers are sharded.
// RUN: shardc fsdp roles %s | FileCheck %s
// RUN: shardc partition %s --fsdp full_shard --mesh fsdp=4 -o - | FileCheck %s --check-prefix=DEVICE

// CHECK: arg2 {{.*}}tensor<8x16xf32> batch dimension 0
// CHECK: arg3 {{.*}}tensor<8xi32> batch dimension 0

// DEVICE: %arg2: tensor<2x16xf32>
// DEVICE-SAME: %arg3: tensor<2xi32>
// DEVICE: stablehlo.gather
// DEVICE-SAME: -> tensor<2x32xf32>
func.func public @main(%arg0: tensor<16x32xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<64x32xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<8x16xf32>, %arg3: tensor<8xi32>) -> (tensor<16x32xf32>, tensor<64x32xf32>, tensor<f32>) {
  %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = stablehlo.exponential %0 : tensor<8x32xf32>
  %2 = stablehlo.exponential %1 : tensor<8x32xf32>
  %3 = stablehlo.exponential %2 : tensor<8x32xf32>
  %c = stablehlo.constant dense<0> : tensor<i32>
  %4 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8xi32>
  %5 = stablehlo.compare LT, %arg3, %4, SIGNED : (tensor<8xi32>, tensor<8xi32>) -> tensor<8xi1>
  %c_0 = stablehlo.constant dense<64> : tensor<i32>
  %6 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<8xi32>
  %7 = stablehlo.add %arg3, %6 : tensor<8xi32>
  %8 = stablehlo.select %5, %7, %arg3 : tensor<8xi1>, tensor<8xi32>
  %9 = stablehlo.broadcast_in_dim %8, dims = [0] : (tensor<8xi32>) -> tensor<8x1xi32>
  %10 = "stablehlo.gather"(%arg1, %9) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 32>}> : (tensor<64x32xf32>, tensor<8x1xi32>) -> tensor<8x32xf32>
  %11 = stablehlo.exponential %10 : tensor<8x32xf32>
  %12 = stablehlo.transpose %11, dims = [1, 0] : (tensor<8x32xf32>) -> tensor<32x8xf32>
  %13 = stablehlo.dot_general %3, %12, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x8xf32>) -> tensor<8x8xf32>
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %14 = stablehlo.reduce(%13 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
  %15 = stablehlo.broadcast_in_dim %cst_1, dims = [] : (tensor<f32>) -> tensor<8x8xf32>
  %16 = stablehlo.dot_general %15, %3, contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x32xf32>) -> tensor<8x32xf32>
  %17 = stablehlo.transpose %16, dims = [1, 0] : (tensor<8x32xf32>) -> tensor<32x8xf32>
  %18 = stablehlo.dot_general %15, %12, contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<32x8xf32>) -> tensor<8x32xf32>
  %19 = stablehlo.transpose %17, dims = [1, 0] : (tensor<32x8xf32>) -> tensor<8x32xf32>
  %20 = stablehlo.multiply %19, %11 : tensor<8x32xf32>
  %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %21 = stablehlo.broadcast_in_dim %cst_2, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
  %22 = "stablehlo.scatter"(%21, %9, %20) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
  ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
    %30 = stablehlo.add %arg4, %arg5 : tensor<f32>
    stablehlo.return %30 : tensor<f32>
  }) : (tensor<64x32xf32>, tensor<8x1xi32>, tensor<8x32xf32>) -> tensor<64x32xf32>
  %23 = stablehlo.multiply %18, %3 : tensor<8x32xf32>
  %24 = stablehlo.multiply %23, %2 : tensor<8x32xf32>
  %25 = stablehlo.multiply %24, %1 : tensor<8x32xf32>
  %26 = stablehlo.dot_general %25, %arg2, contracting_dims = [0] x [0] : (tensor<8x32xf32>, tensor<8x16xf32>) -> tensor<32x16xf32>
  %27 = stablehlo.transpose %26, dims = [1, 0] : (tensor<32x16xf32>) -> tensor<16x32xf32>
  %28 = stablehlo.subtract %arg0, %27 : tensor<16x32xf32>
  %29 = stablehlo.subtract %arg1, %22 : tensor<64x32xf32>
  return %28, %29, %14 : tensor<16x32xf32>, tensor<64x32xf32>, tensor<f32>
}
