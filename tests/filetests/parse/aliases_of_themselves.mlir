// A type alias stands for a type, not for itself; of an element type it stands for the element type.
// RUN: not shardc opt %s -split-input-file 2>&1 | FileCheck %s

// CHECK: error[SH0112]: the type alias `!t` is defined by itself
!t = tensor<!t>
func.func @tensor(%a: !t) {
  return
}

// -----

// CHECK: error[SH0112]: the type alias `!u` is defined by itself
!t = tuple<!u>
!u = tuple<!t>
func.func @tuple(%a: !u) {
  return
}

// -----

// CHECK: error[SH0112]: the type alias `!none` is not defined
func.func @unknown(%a: tensor<2x!none>) {
  return
}
