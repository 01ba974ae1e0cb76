// The layout of an all-reduce is that of its operand, and the operand of a small gradient's all-reduce is a transposed matmul. For XLA's
// TPU compiler it gets the parameter's layout: otherwise the parameter and its momentum would be copied to the other layout and back.
// RUN: shardc opt %s --passes 'legalize-backend{target=tpu}' | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @main
func.func @main(%w: tensor<32x16xf32>, %momentum: tensor<32x16xf32>, %kernel: tensor<3x3x8x4xf32>, %parts: tensor<16x16xf32>, %narrow: tensor<64x8x8xf32>, %bias: tensor<16xf32>, %x: tensor<8x32xf32>, %dy: tensor<8x16xf32>, %flat: tensor<1040xf32>, %dk: tensor<3x3x8x4xf32>, %dn: tensor<64x8x8xf32>, %large: tensor<1024x512xf32>, %dl: tensor<1024x512xf32>, %at: tensor<i32>) -> (tensor<32x16xf32>, tensor<32x16xf32>, tensor<3x3x8x4xf32>, tensor<16x32xf32>, tensor<64x8x8xf32>, tensor<16xf32>, tensor<1024x512xf32>) {
  // An all-reduce of several gradients: each is pinned but the vector, which has one order only. The longer dimension is along the lanes.
  // CHECK: %[[SUM:.*]]:3 = "stablehlo.all_reduce"
  // CHECK: %[[W:.*]] = stablehlo.custom_call @LayoutConstraint(%[[SUM]]#0) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]}
  // The two of four dimensions with the least padding are tiled.
  // CHECK-NEXT: %[[K:.*]] = stablehlo.custom_call @LayoutConstraint(%[[SUM]]#1) {operand_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>], result_layouts = [dense<[2, 3, 1, 0]> : tensor<4xindex>]}
  // CHECK-NEXT: stablehlo.add %arg1, %[[W]]
  %dot = stablehlo.dot_general %dy, %x, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x32xf32>) -> tensor<16x32xf32>
  %dw = stablehlo.transpose %dot, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %db = stablehlo.reduce(%dy init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x16xf32>, tensor<f32>) -> tensor<16xf32>
  %sum:3 = "stablehlo.all_reduce"(%dw, %dk, %db) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<32x16xf32>, tensor<3x3x8x4xf32>, tensor<16xf32>) -> (tensor<32x16xf32>, tensor<3x3x8x4xf32>, tensor<16xf32>)
  %m = stablehlo.add %momentum, %sum#0 : tensor<32x16xf32>
  %new_w = stablehlo.subtract %w, %m : tensor<32x16xf32>
  // CHECK: %[[HELD:.*]] = stablehlo.optimization_barrier %[[K]]
  // CHECK-NEXT: stablehlo.subtract %arg2, %[[HELD]]
  %held = stablehlo.optimization_barrier %sum#1 : tensor<3x3x8x4xf32>
  %new_kernel = stablehlo.subtract %kernel, %held : tensor<3x3x8x4xf32>
  %new_bias = stablehlo.subtract %bias, %sum#2 : tensor<16xf32>
  // Parts of what is summed at once; the parameter that they update is gathered.
  // CHECK: %[[SCATTERED:.*]] = "stablehlo.reduce_scatter"
  // CHECK: %[[PART:.*]] = stablehlo.slice %[[SCATTERED]]
  // CHECK-NEXT: %[[ROWS:.*]] = stablehlo.reshape %[[PART]]
  // CHECK-NEXT: %[[COLUMNS:.*]] = stablehlo.transpose %[[ROWS]]
  // CHECK-NEXT: %[[REVERSED:.*]] = stablehlo.reverse %[[COLUMNS]]
  // CHECK-NEXT: %[[OWN:.*]] = stablehlo.dynamic_slice %[[REVERSED]]
  // CHECK-NEXT: %[[R:.*]] = stablehlo.custom_call @LayoutConstraint(%[[OWN]])
  // CHECK-NEXT: stablehlo.subtract %arg3, %[[R]]
  // CHECK-NEXT: stablehlo.all_gather
  %scattered = "stablehlo.reduce_scatter"(%flat) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1040xf32>) -> tensor<520xf32>
  %part = stablehlo.slice %scattered [0:512] : (tensor<520xf32>) -> tensor<512xf32>
  %rows = stablehlo.reshape %part : (tensor<512xf32>) -> tensor<16x32xf32>
  %columns = stablehlo.transpose %rows, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
  %reversed = stablehlo.reverse %columns, dims = [0] : tensor<32x16xf32>
  %own = stablehlo.dynamic_slice %reversed, %at, %at, sizes = [16, 16] : (tensor<32x16xf32>, tensor<i32>, tensor<i32>) -> tensor<16x16xf32>
  %new_part = stablehlo.subtract %parts, %own : tensor<16x16xf32>
  %whole = "stablehlo.all_gather"(%new_part) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<16x16xf32>) -> tensor<16x32xf32>
  // A large gradient is computed in the parameter's layout; one without an all-reduce keeps its layout, to fuse with the update.
  // CHECK-NOT: LayoutConstraint
  %summed = "stablehlo.all_reduce"(%dl) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<1024x512xf32>) -> tensor<1024x512xf32>
  %new_large = stablehlo.subtract %large, %summed : tensor<1024x512xf32>
  %new_narrow = stablehlo.subtract %narrow, %dn : tensor<64x8x8xf32>
  return %new_w, %m, %new_kernel, %whole, %new_narrow, %new_bias, %new_large : tensor<32x16xf32>, tensor<32x16xf32>, tensor<3x3x8x4xf32>, tensor<16x32xf32>, tensor<64x8x8xf32>, tensor<16xf32>, tensor<1024x512xf32>
}
