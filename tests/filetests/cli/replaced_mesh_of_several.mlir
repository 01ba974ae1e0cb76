// RUN: not shardc partition %s -o - --mesh x=8 2>&1 | FileCheck %s
// --mesh cannot replace several meshes.
// CHECK: error[SH0339]: the module has several meshes, @one and @two
// CHECK: = help: leave out --mesh: one mesh cannot replace several
sdy.mesh @one = <["x"=4]>
sdy.mesh @two = <["y"=2, "z"=2]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@one, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@two, [{"z"}]>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
