// The number of devices has one limit, for meshes, tiles and the command line.
// RUN: not shardc opt %s -split-input-file --passes import-gspmd 2>&1 | FileCheck %s
// RUN: not shardc partition %s -o %t.mlir --mesh a=99999999999999 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not shardc partition %s -o %t.mlir --mesh a=65536,b=32 2>&1 | FileCheck %s --check-prefix=MESH

// AXIS: size '99999999999999' of mesh axis 'a' is too large: a program has at most 1048576 devices
// MESH: the mesh 'a=65536,b=32' is too large: a program has at most 1048576 devices

// CHECK: error[SH0211]: mesh @mesh of 2147483647 devices is too large: a program has at most 1048576 devices
sdy.mesh @mesh = <["a"=2147483647]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
  return
}

// -----

// CHECK: error[SH0211]: mesh @mesh of 65536 x 32 devices is too large: a program has at most 1048576 devices
sdy.mesh @mesh = <["a"=65536, "b"=32]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
  return
}

// -----

// CHECK: error[SH0340]: the sharding "{devices=[1024,2048]<=[2097152]}" {{.*}}: there are too many devices: a program has at most 1048576 devices
func.func @main(%x: tensor<8x8xf32> {mhlo.sharding = "{devices=[1024,2048]<=[2097152]}"}) {
  return
}
