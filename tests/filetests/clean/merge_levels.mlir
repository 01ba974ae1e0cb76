// One parameter has two gradients: a matmul over the whole batch, and one that is already sharded within a node. The
// first is reduce-scattered within the node, and their sum is all-reduced once across nodes.
// RUN: shardc opt %s --passes propagate,plan,merge-reductions,dce | FileCheck %s

sdy.mesh @mesh = <["node"=2, "fsdp"=4]>

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"node", "fsdp"}, {}]>},
    %dy: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"node", "fsdp"}, {}]>},
    %u: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"node"}, {"fsdp"}]>},
    %v: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"node"}, {}]>})
    -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}) {
  // CHECK: %[[A:.*]] = stablehlo.dot_general %arg0, %arg1
  %a = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<16x64xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  // CHECK: %[[B:.*]] = stablehlo.dot_general %arg2, %arg3
  %b = stablehlo.dot_general %u, %v, contracting_dims = [0] x [0] : (tensor<16x64xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  // CHECK: %[[PART:.*]] = sdy.reshard %[[A]] <@mesh, [{"fsdp"}, {}], unreduced={"node"}>
  // CHECK: %[[SUM:.*]] = stablehlo.add %[[B]], %[[PART]]
  // CHECK-NEXT: sdy.reshard %[[SUM]] <@mesh, [{"fsdp"}, {}]>
  %sum = stablehlo.add %a, %b : tensor<64x32xf32>
  return %sum : tensor<64x32xf32>
}
