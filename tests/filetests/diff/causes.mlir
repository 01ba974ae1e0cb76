// The changes from another sharding of the weights, with their causes. The options apply to both programs.
// RUN: not shardc diff %S/replicated.mlir %s | FileCheck %s
// RUN: shardc diff %S/replicated.mlir %s --threshold 1000% --threshold-memory 0 --spec arg1=-,- --spec arg2=-,- | FileCheck %s --check-prefix=SAME
// RUN: shardc diff %s %S/replicated.mlir --format json | FileCheck %s --check-prefix=JSON
// RUN: shardc snapshot %s -o %t.snapshot
// RUN: not shardc diff %S/replicated.mlir %t.snapshot | FileCheck %s --check-prefix=SNAPSHOT

// CHECK: arguments:
// CHECK-NEXT: params['layers'][0..1]['w'] (x2): -,- -> data,-
// CHECK-NEXT: "data" on dimension 0 is from its own annotation
// CHECK-NEXT: collectives, bytes that a device sends in one execution:
// CHECK-NEXT: all_gather along data: 0 B -> 24.0 KiB (new), operations 0 -> 2, executions 0 -> 2
// CHECK-NEXT: new in causes.mlir: tensor<16x64xf32> for stablehlo.dot_general at line
// CHECK: total: 0 B -> 24.0 KiB (new)
// CHECK-NEXT: estimated memory of a device:
// CHECK-NEXT: weight: 64.0 KiB -> 16.0 KiB (-75.0 %)
// CHECK: bytes sent grew from 0; the threshold is 0 %

// SAME: no differences

// JSON: "causes": [
// JSON-NEXT: "\"data\" on dimension 0 was from its own annotation"
// JSON: "exceeded": []

// SNAPSHOT: params['layers'][0..1]['w'] (x2): -,- -> data,-
// SNAPSHOT-NOT: annotation
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(
    %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("batch['x']"),
    %w0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][0]['w']"),
    %w1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][1]['w']")) -> tensor<32x64xf32> {
  %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %1 = stablehlo.tanh %0 : tensor<32x64xf32>
  %2 = stablehlo.dot_general %1, %w1, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}
