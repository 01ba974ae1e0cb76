// A sub-axis becomes an axis of its size; a program with several meshes cannot be given a single one.
// RUN: not shardc partition %s -o - --mesh x=8 2>&1 | FileCheck %s

// CHECK: error[SH0337]: the program shards along x:(1)2, a sub-axis of an axis of size 4, but the axis has size 8 in the new mesh
// CHECK: = help: keep the size of the axis
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}]>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
