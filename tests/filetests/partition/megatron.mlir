// Megatron's pair of weights, sharded by columns, then by rows: activations between them stay sharded, with one all-reduce at the end.
// RUN: shardc partition %s -o - | FileCheck %s --implicit-check-not=all_gather --implicit-check-not=reshape

// CHECK: func.func @main(%arg0: tensor<4x16xf32>, %arg1: tensor<16x8xf32>, %arg2: tensor<8x16xf32>) -> tensor<4x16xf32> {
// CHECK-NEXT: %[[H:.*]] = stablehlo.dot_general %arg0, %arg1, {{.*}} -> tensor<4x8xf32>
// CHECK-NEXT: %[[A:.*]] = stablehlo.sine %[[H]] : tensor<4x8xf32>
// CHECK-NEXT: %[[PART:.*]] = stablehlo.dot_general %[[A]], %arg2, {{.*}} -> tensor<4x16xf32>
// CHECK-NEXT: "stablehlo.all_reduce"(%[[PART]]) <{replica_groups = dense<{{\[}}[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}>
// CHECK-NOT: stablehlo.all_reduce
sdy.mesh @mesh = <["data"=2, "model"=4]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %w1: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
                %w2: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<8x16xf32> {
  %0 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = stablehlo.sine %0 : tensor<8x32xf32>
  %2 = stablehlo.dot_general %1, %w2, contracting_dims = [1] x [0] : (tensor<8x32xf32>, tensor<32x16xf32>) -> tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
