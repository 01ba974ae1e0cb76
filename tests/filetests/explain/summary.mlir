// The summary of a program: the reach of each annotation, conflicts and their reasons, and the purpose of each collective.
// RUN: shardc explain %s | FileCheck %s

// CHECK: axis "data" (4 devices) shards 5 values
// CHECK-NEXT: 4 from argument 0 %x
// CHECK-NEXT: 1 from argument 1 %w
// CHECK: axis "one" (1 devices) has one device and shards nothing
// CHECK: axis "spare" (2 devices) shards nothing
// CHECK: Conflicts, with the bytes that a device sends because of them:
// CHECK-NEXT: 3.0 KiB stablehlo.dot_general
// CHECK-NEXT: %w dimension 0 has "data" (from argument 1 %w), but %0 dimension 1 does not: "data" already shards dimension 0, which was propagated in an earlier round
// CHECK: 1 collective, most bytes first; each device sends 3.0 KiB
// CHECK-NEXT: #0 all_gather of tensor<16x16xf32> along data, weight, for stablehlo.dot_general
// CHECK-NEXT: %w dimension 0 has "data"
sdy.mesh @mesh = <["data"=4, "one"=1, "spare"=2]>
func.func @main(
    %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<32x16xf32> {
  %0 = stablehlo.tanh %x : tensor<32x64xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %1 : tensor<32x16xf32>
}
