// With expected errors, programs with the expected errors are printed; a rejected program is omitted.
// RUN: shardc opt -split-input-file -verify-diagnostics %s | FileCheck %s

// CHECK-LABEL: func.func @good
func.func @good(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

// CHECK-NOT: @bad
func.func @bad(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %b : tensor<4xf32> // expected-error {{not defined}}
}

// -----

// CHECK-LABEL: func.func @good_too
func.func @good_too(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
