// Invalid command lines: exit code 2, and a hint.
// RUN: not shardc partition %s 2>&1 | FileCheck %s --check-prefix=NO-OUTPUT
// RUN: not shardc partition %s -o - --spec arg0 --mesh x=2 2>&1 | FileCheck %s --check-prefix=NO-SPEC
// RUN: not shardc partition %s -o - --spec arg0=x,- 2>&1 | FileCheck %s --check-prefix=NO-MESH
// RUN: not shardc partition %s -o - --mesh x 2>&1 | FileCheck %s --check-prefix=BAD-MESH
// RUN: not shardc partition %s -o - --mesh x=2,x=4 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not shardc opt %s --passes nothing 2>&1 | FileCheck %s --check-prefix=NO-PASS
// RUN: not shardc opt --passes plan 2>&1 | FileCheck %s --check-prefix=NO-INPUT
// RUN: for args in "" "-o - --spec arg0 --mesh x=2" "-o - --spec arg0=x,-" "-o - --mesh x" "-o - --mesh x=0" "-o - --mesh x=2 --spec arg0=y,-"; do \
// RUN:   shardc partition %s $args 2> %t.err; test $? = 2 || { echo "$args"; exit 1; }; done

// NO-OUTPUT: --output <FILE>
// NO-SPEC: error[SH0306]: 'arg0' is not of the form ARG=SPEC, such as arg0=data,-
// NO-SPEC: 1 | --spec arg0
// NO-MESH: error[SH0307]: partition specs need a mesh, but the program and the options specify none
// NO-MESH: = help: add --mesh "data=4,model=2"
// BAD-MESH: error[SH0306]: mesh axis 'x' is not of the form name=size
// BAD-MESH: 1 | --mesh x
// TWICE: error[SH0306]: the mesh has two axes named 'x'
// NO-PASS: error: unknown pass nothing; `shardc opt --passes list` lists the passes
// NO-INPUT: error: no program is given
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
