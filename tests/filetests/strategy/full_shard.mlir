// FSDP: each weight is all-gathered for the forward pass, and those that the backward pass reads once more, behind a
// barrier with the output cotangent of their users. Updates read the shards.
// RUN: shardc fsdp apply %s --fsdp "full_shard auto_wrap" --mesh fsdp=4 | FileCheck %s
// RUN: shardc fsdp apply %s --fsdp shard_grad_op --mesh fsdp=4 | FileCheck %s --check-prefix=ONCE
// RUN: shardc fsdp apply %s --fsdp full_shard --reshard-after-forward false --mesh fsdp=4 | FileCheck %s --check-prefix=ONCE
// RUN: shardc fsdp apply %s --fsdp zero1 --mesh fsdp=4 | FileCheck %s --check-prefix=ZERO1
// RUN: shardc fsdp apply %s --fsdp no_shard --mesh data=4 | FileCheck %s --check-prefix=DDP
// RUN: shardc fsdp apply %s --fsdp hybrid_shard --mesh node=2,fsdp=2 | FileCheck %s --check-prefix=HYBRID
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 --shard-param-on-dim-0 | FileCheck %s --check-prefix=DIM0
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh data=2,model=2 | FileCheck %s --check-prefix=TENSOR
// RUN: shardc fsdp roles %s | FileCheck %s --check-prefix=ROLES
// RUN: shardc fsdp roles %s --role arg0=frozen_parameter | FileCheck %s --check-prefix=SAID
// RUN: shardc fsdp apply %s --mesh fsdp=4 -o %t && shardc partition %t -o %t.out --summary 2>&1 | FileCheck %s --check-prefix=SENT

// ROLES: arg0 w1 tensor<16x64xf32> parameter res0
// ROLES: arg1 w2 tensor<64x8xf32> parameter res1
// ROLES: arg2 m2 tensor<64x8xf32> optimizer_state res2 arg1
// ROLES: arg3 x tensor<8x16xf32> batch dimension 0
// ROLES: the loss is res3
// SAID: arg0 w1 tensor<16x64xf32> frozen_parameter

// SENT: all_gather
// SENT: reduce_scatter

// CHECK: %arg0: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"fsdp"}p1]>
// CHECK: %arg2: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}p1, {}]>
// CHECK: %arg3: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}p0, {}]>
// DIM0: %arg0: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}p1, {}]>
// ZERO1: %arg0: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>
// ZERO1: %arg2: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"fsdp"}p1, {}]>
// DDP: %arg2: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>
// HYBRID: %arg0: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"fsdp"}p1]>
// HYBRID: %arg3: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"node", "fsdp"}p0, {}]>
// Megatron: the first weight is sharded by columns, the second by rows; each is all-gathered only along the other axis.
// TENSOR: %arg0: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}p1, {"model"}p1]>
// TENSOR: %arg1: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}p1, {"data"}p1]>
// TENSOR: %arg2: tensor<64x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}p1, {"data"}p1]>
// TENSOR: %arg3: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}p0, {}]>
// TENSOR: sdy.sharding_constraint %arg0 <@mesh, [{}, {"model"}p1]>
func.func @main(
    %w1: tensor<16x64xf32> {tf.aliasing_output = 0 : i32} loc("w1"),
    %w2: tensor<64x8xf32> {tf.aliasing_output = 1 : i32} loc("w2"),
    %m2: tensor<64x8xf32> {tf.aliasing_output = 2 : i32} loc("m2"),
    %x: tensor<8x16xf32> loc("x")) -> (tensor<16x64xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: %[[W1:.*]] = sdy.sharding_constraint %arg0 <@mesh, [{}, {}]>
  // CHECK: stablehlo.dot_general %arg3, %[[W1]]
  %y1 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %t = stablehlo.tanh %y1 : tensor<8x64xf32>
  // CHECK: %[[W2:.*]] = sdy.sharding_constraint %arg1 <@mesh, [{}, {}]>
  // CHECK: stablehlo.dot_general {{.*}}, %[[W2]]
  // ONCE: %[[W2:.*]] = sdy.sharding_constraint %arg1 <@mesh, [{}, {}]>
  %y2 = stablehlo.dot_general %t, %w2, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %square = stablehlo.multiply %y2, %y2 : tensor<8x8xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  %dy2 = stablehlo.add %y2, %y2 : tensor<8x8xf32>
  // CHECK: %[[DY2:.*]] = stablehlo.add
  %g2 = stablehlo.dot_general %t, %dy2, contracting_dims = [0] x [0] : (tensor<8x64xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  // CHECK: %[[HELD:.*]]:2 = stablehlo.optimization_barrier %arg1, %[[DY2]]
  // CHECK: %[[AGAIN:.*]] = sdy.sharding_constraint %[[HELD]]#0 <@mesh, [{}, {}]>
  // CHECK: stablehlo.dot_general %[[DY2]], %[[AGAIN]]
  // ONCE-NOT: optimization_barrier
  // ONCE: stablehlo.dot_general {{.*}}, %[[W2]], contracting_dims = [1] x [1]
  %dt = stablehlo.dot_general %dy2, %w2, contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<64x8xf32>) -> tensor<8x64xf32>
  %tt = stablehlo.multiply %t, %t : tensor<8x64xf32>
  %one = stablehlo.constant dense<1.0> : tensor<8x64xf32>
  %slope = stablehlo.subtract %one, %tt : tensor<8x64xf32>
  %dy1 = stablehlo.multiply %dt, %slope : tensor<8x64xf32>
  %g1 = stablehlo.dot_general %x, %dy1, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %rate1 = stablehlo.constant dense<0.1> : tensor<16x64xf32>
  %rate2 = stablehlo.constant dense<0.1> : tensor<64x8xf32>
  %s1 = stablehlo.multiply %rate1, %g1 : tensor<16x64xf32>
  // CHECK: stablehlo.subtract %arg0
  %n1 = stablehlo.subtract %w1, %s1 : tensor<16x64xf32>
  %old = stablehlo.multiply %rate2, %m2 : tensor<64x8xf32>
  %n3 = stablehlo.add %old, %g2 : tensor<64x8xf32>
  %s2 = stablehlo.multiply %rate2, %n3 : tensor<64x8xf32>
  // CHECK: stablehlo.subtract %arg1
  // ZERO1: %[[PART:.*]] = sdy.sharding_constraint %{{.*}} <@mesh, [{"fsdp"}p1, {}]>
  // ZERO1: %[[WHOLE:.*]] = sdy.sharding_constraint %[[PART]] <@mesh, [{}, {}]>
  // ZERO1: stablehlo.subtract %arg1, %[[WHOLE]]
  %n2 = stablehlo.subtract %w2, %s2 : tensor<64x8xf32>
  return %n1, %n2, %n3, %loss : tensor<16x64xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<f32>
}
