// Sizes and widths beyond the limits are errors that state the limit.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

// CHECK: error[SH0110]: `tensor<9223372036854775807x4xf32>` is too large: dimension 0 has 9223372036854775807 elements, at most 2^56 are possible
// CHECK: error[SH0110]: `tensor<268435456x268435456xf32>` is too large: it has more than 2^56 bytes (64 PiB)
// CHECK: error[SH0110]: the size 99999999999999999999 of `tensor<99999999999999999999xf32>` is too large
// CHECK: error[SH0110]: `i999999999999` is too wide: integers have at most 16777215 bits
// CHECK: error[SH0110]: `f999` is not an element type
// CHECK-NOT: bug in shardc
func.func @sizes(%a: tensor<9223372036854775807x4xf32>) {
  return
}
func.func @bytes(%a: tensor<268435456x268435456xf32>) {
  return
}
func.func @digits(%a: tensor<99999999999999999999xf32>) {
  return
}
func.func @bits(%a: tensor<2xi999999999999>) {
  return
}
func.func @float(%a: tensor<2xf999>) {
  return
}
