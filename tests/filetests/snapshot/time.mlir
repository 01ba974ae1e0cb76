// With a target that has a grid, snapshots contain the predicted time, and a comparison limits its growth.
// RUN: shardc snapshot %s --target v5e:2x2 -o %t.snapshot
// RUN: FileCheck %s --input-file=%t.snapshot
// RUN: shardc diff %t.snapshot %s --target v5e:2x2 | FileCheck %s --check-prefix=SAME
// RUN: not shardc diff %t.snapshot %s --target v5e:2x2 --spec arg1=data,- --threshold 1000% --threshold-time 10% | FileCheck %s --check-prefix=SLOWER
// RUN: shardc diff %t.snapshot %s --threshold 1000% | FileCheck %s --check-prefix=OTHER
// RUN: not shardc snapshot %s --target v5e:4x4 2>&1 | FileCheck %s --check-prefix=DEVICES

// CHECK: target:
// CHECK-NEXT: v5e:2x2
// CHECK: peak
// CHECK: time:
// CHECK-NEXT: execution
// CHECK-NEXT: compute
// CHECK-NEXT: communication  0 (0 s)
// SAME: no differences
// OTHER: target: v5e:2x2 -> none; use the same --target to compare memory and time
// SLOWER: predicted time of one execution:
// SLOWER-NEXT: execution: {{.*}}%)
// SLOWER: predicted time grew by
// DEVICES: the mesh has 4 devices, but the target v5e:4x4 has 16

sdy.mesh @mesh = <["data"=4]>
func.func @main(
    %x: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}]>}) -> tensor<4096x4096xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16>
  return %0 : tensor<4096x4096xbf16>
}
