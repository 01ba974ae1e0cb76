// A mesh axis that shards nothing is reported, except an axis of size one.
// RUN: shardc lint %s | FileCheck %s
// RUN: shardc lint %s --deny unused-mesh-axis | FileCheck %s --check-prefix=DENIED || true
// RUN: shardc lint %s --allow unused-mesh-axis | FileCheck %s --check-prefix=ALLOWED

// CHECK: warning[SH0902]: axis "model" of mesh @mesh shards nothing: the 2 devices along it do the same work
// CHECK-NEXT: unused_mesh_axis.mlir:[[#@LINE+5]]:10
// CHECK: rule unused-mesh-axis
// CHECK: help: shard a dimension of the batch or of the parameters along "model", or remove the axis from the mesh
// DENIED: error[SH0902]
// ALLOWED: no warnings
sdy.mesh @mesh = <["data"=4, "model"=2, "pipe"=1]>
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<32x64xf32> {
  %0 = stablehlo.tanh %x : tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}
