// Constraints that repeat the result of propagation are reported with their number per kind, one with an effect is
// not; also reported is an axis on a dimension of size one.
// RUN: shardc lint %s | FileCheck %s

sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK-NOT: [{"data"}, {"model"}]
// CHECK: warning[SH0903]: the sharding [{"model"}, {}] of argument 2 shards dimension 0, which has size 1: one of 2 devices holds the element, the others hold padding
// CHECK-NEXT: annotation_without_effect.mlir:[[#@LINE+9]]:17
// CHECK: help: write [{}, {}], so that every device holds the element
// CHECK: warning[SH0903]: the constraint [{"data"}, {}] has no effect: propagation gives every value the same sharding without it
// CHECK-NEXT: annotation_without_effect.mlir:[[#@LINE+10]]:8
// CHECK: note: 1 more constraint like it
// CHECK-NOT: warning[
// CHECK: 2 warnings
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<64x64xf32>,
                %b: tensor<1x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<32x64xf32> {
  %c = stablehlo.reshape %b : (tensor<1x64xf32>) -> tensor<64xf32>
  %d = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
  %0 = stablehlo.add %x, %d : tensor<32x64xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{"data"}, {}]> : tensor<32x64xf32>
  %2 = stablehlo.tanh %1 : tensor<32x64xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{"data"}, {}]> : tensor<32x64xf32>
  %4 = stablehlo.dot_general %3, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %5 = sdy.sharding_constraint %4 <@mesh, [{"data"}, {"model"}]> : tensor<32x64xf32>
  return %5 : tensor<32x64xf32>
}
