// One of several equal weights is not sharded. The change names the collective of this weight, in both directions.
// RUN: sed '/%w2: /s/"data"//' %s > %t.mlir
// RUN: shardc diff %s %t.mlir | FileCheck %s --check-prefix=FEWER
// RUN: not shardc diff %t.mlir %s | FileCheck %s --check-prefix=MORE

// FEWER: fewer in one_of_several.mlir: tensor<16x64xf32> for stablehlo.dot_general at line {{[0-9]+}}: %w2
// MORE: more in one_of_several.mlir: tensor<16x64xf32> for stablehlo.dot_general at line {{[0-9]+}}: %w2
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(
    %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("batch['x']"),
    %w0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][0]['w']"),
    %w1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][1]['w']"),
    %w2: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][2]['w']"),
    %w3: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][3]['w']")) -> tensor<32x64xf32> {
  %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %1 = stablehlo.tanh %0 : tensor<32x64xf32>
  %2 = stablehlo.dot_general %1, %w1, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %3 = stablehlo.tanh %2 : tensor<32x64xf32>
  %4 = stablehlo.dot_general %3, %w2, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %5 = stablehlo.tanh %4 : tensor<32x64xf32>
  %6 = stablehlo.dot_general %5, %w3, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %7 = stablehlo.tanh %6 : tensor<32x64xf32>
  return %7 : tensor<32x64xf32>
}
