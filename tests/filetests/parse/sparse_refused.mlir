// The indices of sparse constants must be in bounds, and each must have a value.
// RUN: not shardc opt %s -split-input-file 2>&1 | FileCheck %s

// CHECK: error[SH0111]: the index [5] is out of bounds for tensor<2xi32>
func.func @beyond() {
  %0 = stablehlo.constant sparse<[[5]], [1]> : tensor<2xi32>
  return
}

// -----

// CHECK: error[SH0111]: the index [-1] is out of bounds for tensor<2xi32>
func.func @negative() {
  %0 = stablehlo.constant sparse<[[-1]], [1]> : tensor<2xi32>
  return
}

// -----

// CHECK: error[SH0111]: the index [0, 0] is out of bounds for tensor<2xi32>
func.func @rank() {
  %0 = stablehlo.constant sparse<[[0, 0]], [1]> : tensor<2xi32>
  return
}

// -----

// CHECK: error[SH0111]: this constant has 1 indices and 2 values
func.func @values() {
  %0 = stablehlo.constant sparse<[[0]], [1, 2]> : tensor<2xi32>
  return
}
