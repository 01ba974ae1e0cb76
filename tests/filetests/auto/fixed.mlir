// The search keeps the mesh and the annotations that are given, and chooses the rest.
// RUN: shardc auto %s --target v5e:2x4 --mesh x=2,y=4 --spec "w=y,-" | FileCheck %s
// RUN: shardc partition %s --auto --target v5e:2x4 --mesh x=2,y=4 --spec "w=y,-" -o - | FileCheck %s --check-prefix=SPMD
// RUN: not shardc auto %s --target v5e:2x4 --mesh x=2,y=2 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: not shardc auto %s --target v5e:2x4 --spec "w=y,-" 2>&1 | FileCheck %s --check-prefix=NO-MESH
// RUN: shardc auto %s --target v5e:2x4 --spec "w=-,-" | FileCheck %s --check-prefix=WHOLE
// RUN: not shardc auto %s --target v5e 2>&1 | FileCheck %s --check-prefix=GRID
// RUN: not shardc auto %s --target v5e --devices 512 2>&1 | FileCheck %s --check-prefix=SLICE
// RUN: not shardc partition %s --auto -o - 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: shardc auto %s --target v5e --devices 4 | FileCheck %s --check-prefix=FOUR

// CHECK: mesh x=2,y=4
// CHECK: w: {{.*}} 4096x4096 as y,-, given
// SPMD: %arg1: tensor<1024x4096xbf16>
// DEVICES: error[SH1601]: the mesh has 4 devices, but v5e:2x4 has 8
// DEVICES: give a mesh with as many devices as the target, or none: the search chooses one
// NO-MESH: error[SH0332]: annotations name axes of a mesh, but neither the options nor the program have one
// WHOLE: w: {{.*}} 4096x4096 as -,-, given
// GRID: --target v5e: use --devices too
// SLICE: --devices 512: there is no usual grid of 512 v5e devices: the largest slice is v5e:16x16; use several slices, as in v5e:16x16:2
// TARGET: --auto needs the grid of the devices
// FOUR: v5e:2x2: 4 devices

func.func @main(%x: tensor<8192x4096xbf16>, %w: tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8192x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<8192x4096xbf16>
  return %0 : tensor<8192x4096xbf16>
}
