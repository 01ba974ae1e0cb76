// Fully sharded data parallelism: the weight is all-gathered before its use; its gradient is reduce-scattered.
// RUN: shardc partition %s -o - | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<8x16xf32>, %arg1: tensor<2x16xf32>) -> (tensor<8x16xf32>, tensor<2x16xf32>) {
// CHECK-NEXT: %[[W:.*]] = "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, replica_groups = dense<{{\[}}[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> : (tensor<2x16xf32>) -> tensor<16x16xf32>
// CHECK-NEXT: %[[Y:.*]] = stablehlo.dot_general %arg0, %[[W]],
// CHECK-NEXT: %[[DW:.*]] = stablehlo.dot_general %arg0, %[[Y]],
// CHECK-NEXT: %[[BLOCK:.*]] = "stablehlo.reduce_scatter"(%[[DW]]) <{replica_groups = dense<{{\[}}[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>, scatter_dimension = 0 : i64}> ({
// CHECK: stablehlo.add
// CHECK: }) : (tensor<16x16xf32>) -> tensor<2x16xf32>
// CHECK-NEXT: return %[[Y]], %[[BLOCK]]
sdy.mesh @mesh = <["data"=8]>
func.func @main(%x: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
        tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %dw = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
  return %y, %dw : tensor<64x16xf32>, tensor<16x16xf32>
}
