// A gradient computes and saves only what it needs.
// RUN: shardc grad %s --wrt x,table,hot -o - | FileCheck %s

// The logistic is saved, its exponential is not; the maximum has no derivative; the gradient of a gather is a
// scatter-add, and that of a matmul with one-hot rows a matmul.
// CHECK: stablehlo.reduce({{.*}}) applies stablehlo.maximum
// CHECK-NOT: stablehlo.compare EQ
// CHECK: %[[Y:.*]] = stablehlo.divide
// CHECK: %[[REST:.*]] = stablehlo.subtract %{{.*}}, %[[Y]]
// CHECK: stablehlo.multiply %[[Y]], %[[REST]]
// CHECK-NOT: stablehlo.compare EQ
// CHECK: stablehlo.dot_general
// CHECK: stablehlo.scatter
// CHECK: stablehlo.add
// CHECK: return
func.func @main(%x: tensor<4x8xf32>, %table: tensor<16x8xf32>, %hot: tensor<16x8xf32>, %ids: tensor<4x1xi32>, %onehot: tensor<4x16xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %one = stablehlo.constant dense<1.0> : tensor<4x8xf32>
  %m = stablehlo.reduce(%x init: %least) applies stablehlo.maximum across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %mb = stablehlo.broadcast_in_dim %m, dims = [0] : (tensor<4xf32>) -> tensor<4x8xf32>
  %d = stablehlo.subtract %x, %mb : tensor<4x8xf32>
  %e = stablehlo.exponential %d : tensor<4x8xf32>
  %s = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  %log = stablehlo.log %s : tensor<4xf32>
  %lse = stablehlo.add %log, %m : tensor<4xf32>
  %n = stablehlo.negate %x : tensor<4x8xf32>
  %en = stablehlo.exponential %n : tensor<4x8xf32>
  %den = stablehlo.add %one, %en : tensor<4x8xf32>
  %y = stablehlo.divide %one, %den : tensor<4x8xf32>
  %rows = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<16x8xf32>, tensor<4x1xi32>) -> tensor<4x8xf32>
  %picked = stablehlo.dot_general %onehot, %hot, contracting_dims = [1] x [0] : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  %a = stablehlo.multiply %y, %rows : tensor<4x8xf32>
  %b = stablehlo.multiply %a, %picked : tensor<4x8xf32>
  %total = stablehlo.reduce(%b init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
  %lses = stablehlo.reduce(%lse init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  %all = stablehlo.add %total, %lses : tensor<f32>
  return %all : tensor<f32>
}
