// A program without a mesh is rejected; the error lists both ways to specify one.
// RUN: not shardc partition %s -o - 2>&1 | FileCheck %s
// RUN: shardc partition %s -o - 2> %t.err; test $? = 1

// CHECK: error[SH0303]: the program has no mesh
// CHECK: = help: annotate it with sdy.mesh and sdy.sharding, or with --mesh "data=4,model=2" and --spec ARG=data,-
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
