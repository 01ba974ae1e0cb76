// An alias of an element type is resolved.
// RUN: shardc opt %s | FileCheck %s

!byte = i8
!small = !byte

// CHECK: func.func @main(%arg0: tensor<2xi8>) -> tensor<2xi8>
func.func @main(%a: tensor<2x!small>) -> tensor<2x!byte> {
  return %a : tensor<2xi8>
}
