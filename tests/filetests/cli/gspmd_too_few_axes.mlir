// RUN: not shardc partition %s -o - --mesh data=3 2>&1 | FileCheck %s
// RUN: shardc partition %s -o - --mesh data=3 2> %t.err; test $? = 2
// --mesh needs enough axes for the tiles of GSPMD annotations.
// CHECK: error[SH0337]: the mesh data=3 has too few axes: the program's tile assignments need a mesh of 4x2
// CHECK: = help: axes are matched in order: add one for the axis of size 2, or one of size 1 to shard nothing along it
func.func @main(%x: tensor<8x8xf32> {mhlo.sharding = "{devices=[4,2]<=[8]}"}) -> tensor<8x8xf32> {
  return %x : tensor<8x8xf32>
}
