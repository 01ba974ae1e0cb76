// A loop over a stack of layers all-gathers the rows of one iteration, and never the stack, which is sharded along
// another dimension than the layers. With offload the stack is in host memory, and rows are copied to the device.
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 | FileCheck %s
// RUN: shardc fsdp apply %s --fsdp "full_shard offload" --mesh fsdp=4 | FileCheck %s --check-prefix=HOST
// RUN: shardc fsdp apply %s --mesh fsdp=4 -o %t && shardc partition %t -o - | FileCheck %s --check-prefix=PARTS

// CHECK: %arg0: tensor<3x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"fsdp"}p1, {}]>
// CHECK-NOT: sharding_constraint
// HOST: %arg0: tensor<3x16x16xf32> {mhlo.memory_kind = "pinned_host"
// HOST-NOT: annotate_device_placement(%arg0)
func.func @main(%w: tensor<3x16x16xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x16xf32>) -> (tensor<3x16x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %nothing = stablehlo.constant dense<0.0> : tensor<f32>
  // CHECK: stablehlo.while
  // HOST: stablehlo.while
  // PARTS: stablehlo.while
  %l:3 = stablehlo.while(%i = %zero, %ws = %w, %h = %x) : tensor<i32>, tensor<3x16x16xf32>, tensor<8x16xf32>
  cond {
    %t = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    // CHECK: %[[ROW:.*]] = stablehlo.dynamic_slice
    // CHECK-NEXT: sdy.sharding_constraint %[[ROW]] <@mesh, [{}, {}, {}]>
    // HOST: %[[ROW:.*]] = stablehlo.dynamic_slice
    // HOST-NEXT: %[[HERE:.*]] = stablehlo.custom_call @annotate_device_placement(%[[ROW]]) {{.*}}"device"
    // HOST-NEXT: sdy.sharding_constraint %[[HERE]]
    // PARTS: "stablehlo.all_gather"{{.*}} -> tensor<1x16x16xf32>
    %row = stablehlo.dynamic_slice %ws, %i, %zero, %zero, sizes = [1, 16, 16] : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %wi = stablehlo.reshape %row : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
    %next = stablehlo.dot_general %h, %wi, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %ws, %next : tensor<i32>, tensor<3x16x16xf32>, tensor<8x16xf32>
  }
  %loss = stablehlo.reduce(%l#2 init: %nothing) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  %spread = stablehlo.broadcast_in_dim %loss, dims = [] : (tensor<f32>) -> tensor<3x16x16xf32>
  // HOST: stablehlo.custom_call @annotate_device_placement(%{{.*}}) {{.*}}"pinned_host"
  %step = stablehlo.subtract %w, %spread : tensor<3x16x16xf32>
  return %step, %loss : tensor<3x16x16xf32>, tensor<f32>
}
