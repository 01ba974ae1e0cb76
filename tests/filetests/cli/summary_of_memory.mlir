// The summary has a total, lists host memory and device memory separately, and states whether the program fits.
// RUN: shardc partition %s -o %t.mlir --summary --memory 6MiB 2>&1 | FileCheck %s

// CHECK-NOT: SH0470
// CHECK: estimated memory of a device: arguments 0 B, outputs 0 B (0 B in place), temporaries 0 B, peak 0 B; host memory: 8.0 MiB
// CHECK: fits in 6.0 MiB, with 6.0 MiB left
sdy.mesh @mesh = <["x"=4]>
func.func public @main(%arg0: tensor<4096x1024xf32> {mhlo.memory_kind = "pinned_host", sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4096x1024xf32> {mhlo.memory_kind = "pinned_host"}) {
  return %arg0 : tensor<4096x1024xf32>
}
