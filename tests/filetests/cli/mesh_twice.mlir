// --mesh is for programs without annotations.
// RUN: not shardc partition %s -o - --mesh x=4 2>&1 | FileCheck %s
// RUN: shardc partition %s -o - --mesh x=4 2> %t.err; test $? = 2

sdy.mesh @mesh = <["x"=4]>
// CHECK: error[SH0331]: the module has a mesh already: @mesh
// CHECK: = help: leave out --mesh and --spec, or remove the annotations from the module
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
