// bf16 matmuls in an f32 step: weights are cast before they are all-gathered, and before they are transposed as in
// PyTorch/XLA; gradients are all-reduced in bf16, or in f32 if requested.
// RUN: shardc fsdp apply %s --fsdp "full_shard bf16" --mesh fsdp=4 | FileCheck %s
// RUN: shardc fsdp apply %s --fsdp "full_shard bf16 fp32_reduce_scatter" --mesh fsdp=4 | FileCheck %s --check-prefix=WIDE
// RUN: shardc partition %s --fsdp "full_shard bf16" --mesh fsdp=4 -o - | FileCheck %s --check-prefix=SENT
// RUN: shardc partition %s --fsdp "full_shard bf16 fp32_reduce_scatter" --mesh fsdp=4 -o - | FileCheck %s --check-prefix=SENT-WIDE

// CHECK: %[[NARROW:.*]] = stablehlo.convert %arg0 : (tensor<64x16xf32>) -> tensor<64x16xbf16>
// CHECK: %[[WHOLE:.*]] = sdy.sharding_constraint %[[NARROW]] <@mesh, [{}, {}]>
// CHECK: %[[TURNED:.*]] = stablehlo.transpose %[[WHOLE]]
// CHECK: %[[Y:.*]] = stablehlo.dot_general %{{.*}}, %[[TURNED]], {{.*}} -> tensor<8x64xbf16>
// CHECK: stablehlo.convert %[[Y]] : (tensor<8x64xbf16>) -> tensor<8x64xf32>
// CHECK: %[[G:.*]] = stablehlo.dot_general {{.*}} -> tensor<64x16xbf16>
// WIDE: stablehlo.dot_general {{.*}} -> tensor<8x64xbf16>
// WIDE: stablehlo.dot_general {{.*}}(tensor<8x64xbf16>, tensor<8x16xbf16>) -> tensor<64x16xf32>
// SENT: "stablehlo.all_gather"{{.*}} tensor<64x16xbf16>
// SENT: "stablehlo.reduce_scatter"
// SENT: (tensor<64x16xbf16>) -> tensor<16x16xbf16>
// SENT-WIDE: "stablehlo.reduce_scatter"
// SENT-WIDE: (tensor<64x16xf32>) -> tensor<16x16xf32>
func.func @main(%w: tensor<64x16xf32> {tf.aliasing_output = 0 : i32} loc("w"), %x: tensor<8x16xf32> loc("x"))
    -> (tensor<64x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %t = stablehlo.transpose %w, dims = [1, 0] : (tensor<64x16xf32>) -> tensor<16x64xf32>
  %y = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x64xf32>) -> tensor<8x64xf32>
  %square = stablehlo.multiply %y, %y : tensor<8x64xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x64xf32>, tensor<f32>) -> tensor<f32>
  %dy = stablehlo.add %y, %y : tensor<8x64xf32>
  %g = stablehlo.dot_general %dy, %x, contracting_dims = [0] x [0] : (tensor<8x64xf32>, tensor<8x16xf32>) -> tensor<64x16xf32>
  %n = stablehlo.subtract %w, %g : tensor<64x16xf32>
  return %n, %loss : tensor<64x16xf32>, tensor<f32>
}
