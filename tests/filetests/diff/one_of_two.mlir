// Only one of two equal weights is sharded. The change names the collective of the other weight, in both directions.
// RUN: not shardc diff %S/causes.mlir %s --threshold 0 | FileCheck %s --check-prefix=FEWER
// RUN: not shardc diff %s %S/causes.mlir | FileCheck %s --check-prefix=MORE

// FEWER: fewer: tensor<16x64xf32> for stablehlo.dot_general at line {{[0-9]+}}: %w1
// MORE: more: tensor<16x64xf32> for stablehlo.dot_general at line {{[0-9]+}}: %w1
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(
    %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("batch['x']"),
    %w0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][0]['w']"),
    %w1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>} loc("params['layers'][1]['w']")) -> tensor<32x64xf32> {
  %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %1 = stablehlo.tanh %0 : tensor<32x64xf32>
  %2 = stablehlo.dot_general %1, %w1, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}
