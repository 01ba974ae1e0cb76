// Options that do not fit the program: exit code 2, and an error that lists what the program has.
// RUN: not shardc partition %s -o - --mesh data=4,model=2 --spec arg0=dat,- 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not shardc partition %s -o - --mesh data=4,model=2 --spec arg0=data 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not shardc partition %s -o - --mesh data=4,model=2 --spec arg7=data,- 2>&1 | FileCheck %s --check-prefix=ARG
// RUN: not shardc partition %s -o - --mesh data=4,model=2 --spec weights=data,- 2>&1 | FileCheck %s --check-prefix=NAME
// RUN: not shardc partition %s -o - --mesh data=4,model=2 --spec arg0=data,data 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: shardc partition %s -o - --mesh data=4 --spec arg0=dat,- 2> %t.err; test $? = 2

// AXIS: error[SH0335]: the mesh has no axis 'dat'
// AXIS: --> <command line>:1:13
// AXIS: 1 | --spec arg0=dat,-
// AXIS: ::: {{.*}}misfit_specs.mlir:
// AXIS: func.func @main(%x:
// AXIS: = help: did you mean data? its axes are data, model
// RANK: error[SH0334]: argument 0 has type tensor<32x64xf32>, of rank 2, but its partition spec has 1 dimensions
// RANK: = help: write one item per dimension, '-' for one that is not sharded
// ARG: error[SH0333]: the entry function has no argument 7
// ARG: = help: the function has 2 arguments; indices start at 0
// NAME: error[SH0333]: no argument or result is named 'weights'
// NAME: = help: their positional names are arg0 to arg1 and res0
// TWICE: error[SH0336]: axis 'data' is used twice for argument 0
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
