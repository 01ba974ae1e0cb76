// A training step is proven, and a partition with another constant is refuted with the operation and its line.
// RUN: shardc partition %s -o %t.mlir --manifest %t.json
// RUN: shardc prove %s %t.mlir %t.json | FileCheck %s
// RUN: shardc prove %s %t.mlir %t.json --format json | FileCheck %s --check-prefix JSON
// RUN: shardc partition %s -o %t.other.mlir --prove 2>&1 | FileCheck %s
// RUN: sed 's/dense<1.000000e-01>/dense<2.000000e-01>/' %t.mlir > %t.constant.mlir
// RUN: not shardc prove %s %t.constant.mlir %t.json | FileCheck %s --check-prefix DIFFERENT

// CHECK: proven: in exact arithmetic, for all inputs; outputs proven: 2 of 2
// CHECK: operations proven:

// JSON: "verdict": "proven"

// DIFFERENT: refuted: results differ for random inputs; outputs proven: 0 of 2
// DIFFERENT-NEXT: stablehlo.{{.*}} at {{.*}}.mlir:{{[0-9]+}}{{.*}}; needed:
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(
    %x: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
    %v: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
        tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) {
  %rate = stablehlo.constant dense<1.000000e-01> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x16xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
  %1 = stablehlo.tanh %0 : tensor<32x64xf32>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %3 = stablehlo.subtract %2, %x : tensor<32x16xf32>
  %4 = stablehlo.dot_general %1, %3, contracting_dims = [0] x [0] : (tensor<32x64xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>
  %5 = stablehlo.dot_general %3, %v, contracting_dims = [1] x [1] : (tensor<32x16xf32>, tensor<64x16xf32>) -> tensor<32x64xf32>
  %6 = stablehlo.dot_general %x, %5, contracting_dims = [0] x [0] : (tensor<32x16xf32>, tensor<32x64xf32>) -> tensor<16x64xf32>
  %7 = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
  %8 = stablehlo.multiply %7, %6 : tensor<16x64xf32>
  %9 = stablehlo.subtract %w, %8 : tensor<16x64xf32>
  %10 = stablehlo.broadcast_in_dim %rate, dims = [] : (tensor<f32>) -> tensor<64x16xf32>
  %11 = stablehlo.multiply %10, %4 : tensor<64x16xf32>
  %12 = stablehlo.subtract %v, %11 : tensor<64x16xf32>
  return %9, %12 : tensor<16x64xf32>, tensor<64x16xf32>
}
