// Parameters and batch are sharded along one axis: weights, which are updated in place, are all-gathered, and
// gradients are reduce-scattered. Propagating parameters first would all-gather activations of the whole batch.
// RUN: shardc partition %s -o - --strict --combine-bytes 0 | FileCheck %s

sdy.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @main(
// CHECK-NOT: tensor<512x
func.func @main(
    %w1: tensor<64x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>, tf.aliasing_output = 0 : i32},
    %w2: tensor<128x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>, tf.aliasing_output = 1 : i32},
    %x: tensor<512x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<64x128xf32>, tensor<128x64xf32>) {
  // CHECK-DAG: "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64, {{.*}} : (tensor<64x16xf32>) -> tensor<64x128xf32>
  // CHECK-DAG: "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, {{.*}} : (tensor<16x64xf32>) -> tensor<128x64xf32>
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x128xf32>) -> tensor<512x128xf32>
  %1 = stablehlo.tanh %0 : tensor<512x128xf32>
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<512x128xf32>, tensor<128x64xf32>) -> tensor<512x64xf32>
  %3 = stablehlo.dot_general %1, %2, contracting_dims = [0] x [0] : (tensor<512x128xf32>, tensor<512x64xf32>) -> tensor<128x64xf32>
  %4 = stablehlo.dot_general %2, %w2, contracting_dims = [1] x [1] : (tensor<512x64xf32>, tensor<128x64xf32>) -> tensor<512x128xf32>
  %5 = stablehlo.dot_general %x, %4, contracting_dims = [0] x [0] : (tensor<512x64xf32>, tensor<512x128xf32>) -> tensor<64x128xf32>
  // CHECK: "stablehlo.reduce_scatter"
  // CHECK: "stablehlo.reduce_scatter"
  // CHECK-NOT: stablehlo.all_reduce
  %6 = stablehlo.add %w1, %5 : tensor<64x128xf32>
  %7 = stablehlo.add %w2, %3 : tensor<128x64xf32>
  return %6, %7 : tensor<64x128xf32>, tensor<128x64xf32>
}
