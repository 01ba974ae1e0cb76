// A mesh along which nothing is sharded is reported with a hint; with --strict it is not an error like an all-gather.
// RUN: shardc partition %s -o - --mesh "data=4,model=2" --strict 2>&1 | FileCheck %s
// RUN: shardc lint %s --mesh "data=4,model=2" | FileCheck %s
// RUN: shardc partition %s -o - --mesh "data=4,model=2" --spec arg1=data,- 2>&1 | FileCheck %s --check-prefix=SPLIT
// RUN: shardc partition %s -o - --mesh "data=1" 2>&1 | FileCheck %s --check-prefix=SPLIT

// CHECK: warning[SH0911]: nothing is sharded: each of the 8 devices of mesh @mesh computes the entire program
// CHECK: help: "data" divides dimension 0 of argument 1, tensor<64x64xf32>: shard it with --spec arg1=data,- or sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>
// CHECK-NOT: warning[
// SPLIT-NOT: warning[
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x64xf32>) -> tensor<32x64xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}
