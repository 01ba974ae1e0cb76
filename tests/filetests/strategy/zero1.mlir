// ZeRO-1: the update of a parameter is computed in shards and all-gathered, if the step ends by adding it to the
// parameter, which may decay before; otherwise the next parameter is all-gathered.
// RUN: shardc fsdp apply %s --fsdp zero1 --mesh fsdp=4 | FileCheck %s
// RUN: shardc partition %s --fsdp zero1 --mesh fsdp=4 -o - | FileCheck %s --check-prefix=PARTS
// RUN: shardc verify %s --fsdp zero1 --mesh fsdp=4

// CHECK: func.func @main
// CHECK: %[[SCALED:.*]] = stablehlo.multiply %arg0
// CHECK: %[[PART:.*]] = sdy.sharding_constraint {{.*}} <@mesh, [{}, {"fsdp"}p1]>
// CHECK: %[[WHOLE:.*]] = sdy.sharding_constraint %[[PART]] <@mesh, [{}, {}]>
// CHECK: %[[NEXT:.*]] = stablehlo.add %[[WHOLE]], %[[SCALED]]
// CHECK: %[[OTHER:.*]] = stablehlo.subtract {{.*}}, %arg1
// CHECK: %[[PART:.*]] = sdy.sharding_constraint %[[OTHER]] <@mesh, [{"fsdp"}p1, {}]>
// CHECK: %[[WHOLE:.*]] = sdy.sharding_constraint %[[PART]] <@mesh, [{}, {}]>
// CHECK: return %[[NEXT]], %[[WHOLE]]

// PARTS: %[[SCALED:.*]] = stablehlo.multiply %arg0, {{.*}} tensor<16x64xf32>
// PARTS: stablehlo.subtract {{.*}} tensor<16x8xf32>
// PARTS: "stablehlo.all_gather"{{.*}}(tensor<1x384xf32>) -> tensor<4x384xf32>
// PARTS: stablehlo.add {{.*}}, %[[SCALED]] : tensor<16x64xf32>
func.func @main(
    %w1: tensor<16x64xf32> {tf.aliasing_output = 0 : i32} loc("w1"),
    %w2: tensor<64x8xf32> {tf.aliasing_output = 1 : i32} loc("w2"),
    %m2: tensor<64x8xf32> {tf.aliasing_output = 2 : i32} loc("m2"),
    %x: tensor<8x16xf32> loc("x")) -> (tensor<16x64xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %y1 = stablehlo.dot_general %x, %w1, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %y2 = stablehlo.dot_general %y1, %w2, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x8xf32>) -> tensor<8x8xf32>
  %square = stablehlo.multiply %y2, %y2 : tensor<8x8xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  %dy2 = stablehlo.add %y2, %y2 : tensor<8x8xf32>
  %g2 = stablehlo.dot_general %y1, %dy2, contracting_dims = [0] x [0] : (tensor<8x64xf32>, tensor<8x8xf32>) -> tensor<64x8xf32>
  %dy1 = stablehlo.dot_general %dy2, %w2, contracting_dims = [1] x [1] : (tensor<8x8xf32>, tensor<64x8xf32>) -> tensor<8x64xf32>
  %g1 = stablehlo.dot_general %x, %dy1, contracting_dims = [0] x [0] : (tensor<8x16xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  %rate1 = stablehlo.constant dense<-0.1> : tensor<16x64xf32>
  %rate2 = stablehlo.constant dense<0.1> : tensor<64x8xf32>
  %decay = stablehlo.constant dense<0.99> : tensor<16x64xf32>
  %decayed = stablehlo.multiply %w1, %decay : tensor<16x64xf32>
  %s1 = stablehlo.multiply %rate1, %g1 : tensor<16x64xf32>
  %n1 = stablehlo.add %s1, %decayed : tensor<16x64xf32>
  %old = stablehlo.multiply %rate2, %m2 : tensor<64x8xf32>
  %n3 = stablehlo.add %old, %g2 : tensor<64x8xf32>
  %n2 = stablehlo.subtract %n3, %w2 : tensor<64x8xf32>
  return %n1, %n2, %n3, %loss : tensor<16x64xf32>, tensor<64x8xf32>, tensor<64x8xf32>, tensor<f32>
}
