// An optimizer with matmuls, such as Muon, works on stacks of all layers. Its matmuls are sharded by layers: along
// all devices, unevenly, or along a part of them if there are fewer layers. The product of a matrix and its transpose
// is sharded once. Matmuls of weights alone are not the optimizer's.
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=2 --role arg1=batch | FileCheck %s --check-prefixes CHECK,EVEN
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=3 --role arg1=batch | FileCheck %s --check-prefixes CHECK,EVEN
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=8 --role arg1=batch | FileCheck %s --check-prefixes CHECK,PART
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=2,model=2 --role arg1=batch | FileCheck %s --check-prefixes CHECK,ALL

// CHECK: %[[OF_WEIGHTS:.*]] = stablehlo.dot_general %{{.*}}, %{{.*}}, batching_dims = [0] x [0], contracting_dims = [2] x [2]
// CHECK-NOT: sdy.sharding_constraint %[[OF_WEIGHTS]]
// CHECK: %[[G:.*]] = stablehlo.multiply
// EVEN-NEXT: %[[SPLIT:.*]] = sdy.sharding_constraint %[[G]] <@mesh, [{"fsdp"}p1, {?}, {?}]>
// PART-NEXT: %[[SPLIT:.*]] = sdy.sharding_constraint %[[G]] <@mesh, [{"fsdp":(1)4}p1, {?}, {?}]>
// ALL-NEXT: %[[SPLIT:.*]] = sdy.sharding_constraint %[[G]] <@mesh, [{"fsdp", "model"}p1, {?}, {?}]>
// CHECK-NEXT: %[[T:.*]] = stablehlo.transpose %[[SPLIT]]
// CHECK-NEXT: %[[SQUARE:.*]] = stablehlo.dot_general %[[SPLIT]], %[[T]]
// CHECK-NEXT: sdy.sharding_constraint %[[SQUARE]] <@mesh, [{"fsdp"
func.func @main(%w: tensor<4x8x8xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x8xf32>) -> (tensor<4x8x8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %layers = stablehlo.constant dense<4> : tensor<i32>
  %nothing = stablehlo.constant dense<0.0> : tensor<f32>
  %squares = stablehlo.dot_general %w, %w, batching_dims = [0] x [0], contracting_dims = [2] x [2] : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x8xf32>
    cond {
      %c = stablehlo.compare LT, %i, %layers : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %row = stablehlo.dynamic_slice %w, %i, %zero, %zero, sizes = [1, 8, 8] : (tensor<4x8x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x8x8xf32>
      %layer = stablehlo.reshape %row : (tensor<1x8x8xf32>) -> tensor<8x8xf32>
      %next = stablehlo.dot_general %y, %layer, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<8x8xf32>
    }
  %outer = stablehlo.dot_general %x, %r#1, contracting_dims = [0] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %all = stablehlo.broadcast_in_dim %outer, dims = [1, 2] : (tensor<8x8xf32>) -> tensor<4x8x8xf32>
  %g = stablehlo.multiply %all, %squares : tensor<4x8x8xf32>
  %t = stablehlo.transpose %g, dims = [0, 2, 1] : (tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %square = stablehlo.dot_general %g, %t, batching_dims = [0] x [0], contracting_dims = [2] x [1] : (tensor<4x8x8xf32>, tensor<4x8x8xf32>) -> tensor<4x8x8xf32>
  %new = stablehlo.subtract %w, %square : tensor<4x8x8xf32>
  %loss = stablehlo.reduce(%r#1 init: %nothing) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  return %new, %loss : tensor<4x8x8xf32>, tensor<f32>
}
