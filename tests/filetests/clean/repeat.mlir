// If memory is short, parameters are all-gathered separately for the forward and the backward pass; the second
// all-gather waits for the cotangent. The last layer's parameter is needed again at once, and is kept.
// RUN: shardc partition %s -o - --memory 0 --combine-bytes 0 | FileCheck %s --implicit-check-not=stablehlo.all_gather
// RUN: shardc partition %s -o - --memory 1MiB --combine-bytes 0 | FileCheck %s --check-prefix=KEPT --implicit-check-not=optimization_barrier
// RUN: shardc partition %s -o %t.mlir --memory 1KiB --summary 2>&1 | FileCheck %s --check-prefix=SHORT

sdy.mesh @mesh = <["fsdp"=4]>

// CHECK: %[[W1:.*]] = "stablehlo.all_gather"(%arg1)
// CHECK: stablehlo.dot_general %arg0, %[[W1]]
// CHECK: %[[W2:.*]] = "stablehlo.all_gather"(%arg2)
// CHECK: stablehlo.dot_general %{{.*}}, %[[W2]]
// CHECK: %[[W3:.*]] = "stablehlo.all_gather"(%arg3)
// CHECK: stablehlo.dot_general %{{.*}}, %[[W3]]
// CHECK: stablehlo.dot_general %{{.*}}, %[[W3]], contracting_dims = [1] x [1]
// CHECK: %[[B:.*]]:2 = stablehlo.optimization_barrier %arg2, %{{.*}} : tensor<2x8xf32>, tensor<4x8xf32>
// CHECK: %[[AGAIN:.*]] = "stablehlo.all_gather"(%[[B]]#0)
// CHECK: stablehlo.dot_general %[[B]]#1, %[[AGAIN]], contracting_dims = [1] x [1]

// KEPT-COUNT-3: stablehlo.all_gather

// SHORT: warning[SH0470]: each device needs up to about {{.*}} but has 1.0 KiB
// SHORT: collectives cleaned up: {{.*}}1 rematerialized
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>},
    %w1: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>, jax.buffer_donor = true},
    %w2: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>, jax.buffer_donor = true},
    %w3: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>, jax.buffer_donor = true}) -> (
    tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>},
    tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>},
    tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}, {}]>}) {
  %h1 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %a1 = stablehlo.tanh %h1 : tensor<16x8xf32>
  %h2 = stablehlo.dot_general %a1, %w2, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %a2 = stablehlo.tanh %h2 : tensor<16x8xf32>
  %h3 = stablehlo.dot_general %a2, %w3, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %d3 = stablehlo.multiply %h3, %h3 : tensor<16x8xf32>
  %g3 = stablehlo.dot_general %a2, %d3, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %e2 = stablehlo.dot_general %d3, %w3, contracting_dims = [1] x [1] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %d2 = stablehlo.multiply %e2, %a2 : tensor<16x8xf32>
  %g2 = stablehlo.dot_general %a1, %d2, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  %e1 = stablehlo.dot_general %d2, %w2, contracting_dims = [1] x [1] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %d1 = stablehlo.multiply %e1, %a1 : tensor<16x8xf32>
  %g1 = stablehlo.dot_general %x, %d1, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
  return %g1, %g2, %g3 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
