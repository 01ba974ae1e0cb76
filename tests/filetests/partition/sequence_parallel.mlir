// Sequence parallelism: partial sums become shards of the sequence by a reduce-scatter, and are all-gathered for the
// next matmul. There is no all-reduce.
// RUN: shardc partition %s -o - | FileCheck %s --implicit-check-not=all_reduce

// CHECK: %[[PART:.*]] = stablehlo.dot_general %arg0, %arg1, {{.*}} -> tensor<16x16xf32>
// CHECK-NEXT: %[[BLOCK:.*]] = "stablehlo.reduce_scatter"(%[[PART]]) <{replica_groups = dense<{{\[}}[0, 1, 2, 3]]> : tensor<1x4xi64>, scatter_dimension = 0 : i64}>
// CHECK: }) : (tensor<16x16xf32>) -> tensor<4x16xf32>
// CHECK-NEXT: %[[SINE:.*]] = stablehlo.sine %[[BLOCK]] : tensor<4x16xf32>
// CHECK-NEXT: %[[ALL:.*]] = "stablehlo.all_gather"(%[[SINE]]) <{all_gather_dim = 0 : i64,
// CHECK-NEXT: stablehlo.dot_general %[[ALL]], %arg2, {{.*}} -> tensor<16x8xf32>
sdy.mesh @mesh = <["model"=4]>
func.func @main(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                %w1: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
                %w2: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) {
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"model"}, {}]> : tensor<16x16xf32>
  %2 = stablehlo.sine %1 : tensor<16x16xf32>
  %3 = stablehlo.dot_general %2, %w2, contracting_dims = [1] x [0] : (tensor<16x16xf32>, tensor<16x32xf32>) -> tensor<16x32xf32>
  return %3 : tensor<16x32xf32>
}
