// RUN: not shardc partition %s -o - --target v5e:4x4 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: not shardc partition %s -o - --target v9 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not shardc partition %s -o - --target v5p:4x4 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: shardc partition %s -o - --target h100:8 | FileCheck %s
// A target must be known, have a grid that fits the device, and have as many devices as the mesh.
// DEVICES: error: the mesh has 8 devices, but the target v5e:4x4 has 16
// DEVICES: = help: use a mesh of 16 devices, or a target with 8
// UNKNOWN: error: there is no device "v9"
// UNKNOWN: = help: known devices are cpu, v4, v5e
// GRID: a slice of v5p has 3 dimensions
// CHECK: stablehlo.negate {{.*}} : tensor<8xf32>
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<64xf32> {
  %0 = stablehlo.negate %a : tensor<64xf32>
  return %0 : tensor<64xf32>
}
