// A snapshot: equal tensors whose names differ in numbers share a row. Snapshots are read as text and as JSON.
// RUN: shardc snapshot %s | FileCheck %s
// RUN: shardc snapshot %s -o %t.snapshot
// RUN: shardc diff %t.snapshot %s | FileCheck %s --check-prefix=SAME
// RUN: shardc snapshot %s --format json | FileCheck %s --check-prefix=JSON
// RUN: shardc snapshot %s --format json -o %t.json
// RUN: shardc diff %t.json %t.snapshot | FileCheck %s --check-prefix=SAME

// CHECK: shardc snapshot 1
// CHECK: mesh:
// CHECK-NEXT: data=4,model=2
// CHECK: arguments:
// CHECK-NEXT: x1  32x64xf32  data,-  batch['x']
// CHECK-NEXT: x2  64x64xf32  data,-  params['layers'][0..1]['w']
// CHECK-NEXT: x1  64xf32     -       params['scale']
// CHECK: results:
// CHECK-NEXT: x1  32x64xf32  data,-  res0
// CHECK: collectives:
// CHECK-NEXT: all_gather  data  x2  2  24576 (24.0 KiB)
// CHECK: memory:
// CHECK-NEXT: weight       16896 (16.5 KiB)
// CHECK-NEXT: batch        4096 (4.0 KiB)
// CHECK: peak
// SAME: no differences
// JSON: "version": 1,
// JSON: "name": "params['layers'][0..1]['w']",
// JSON-NEXT: "count": 2,
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(
    %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("batch['x']"),
    %w0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][0]['w']"),
    %w1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][1]['w']"),
    %s: tensor<64xf32> loc("params['scale']")) -> tensor<32x64xf32> {
  %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
  %1 = stablehlo.multiply %0, %b : tensor<32x64xf32>
  %2 = stablehlo.dot_general %1, %w1, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %2 : tensor<32x64xf32>
}
