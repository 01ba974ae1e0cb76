// Data parallelism replicates every parameter: this strategy is reported once, and only if it takes much memory.
// RUN: shardc lint %s | FileCheck %s --check-prefix=SMALL
// RUN: shardc lint %s --min-bytes 4KiB | FileCheck %s

sdy.mesh @mesh = <["data"=8]>

// SMALL: no warnings
// CHECK: warning[SH0901]: most parameters are replicated on each of 8 devices: 2 arguments of at least 4.0 KiB take 8.0 MiB per device
// CHECK: help: shard them along the axis of the batch (FSDP): #sdy.sharding<@mesh, [{"data"}, {}]> on this argument divides its size by 8
// CHECK: 1 warning
func.func @main(%x: tensor<64x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %v: tensor<1024x1024xf32>, %w: tensor<1024x1024xf32>) -> tensor<64x1024xf32> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x1024xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x1024xf32>
  return %1 : tensor<64x1024xf32>
}
