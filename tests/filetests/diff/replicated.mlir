// The first version of `causes.mlir`: its weights are replicated.
// RUN: shardc snapshot %s | FileCheck %s

// CHECK-NOT: all_gather
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(
    %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("batch['x']"),
    %w0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>} loc("params['layers'][0]['w']"),
    %w1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>} loc("params['layers'][1]['w']")) -> tensor<32x64xf32> {
  %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %1 = stablehlo.tanh %0 : tensor<32x64xf32>
  %2 = stablehlo.dot_general %1, %w1, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}
