// Comments specify the expected errors and their lines.
// RUN: shardc opt -split-input-file -verify-diagnostics %s
// RUN: not shardc opt -split-input-file -verify-diagnostics=text %s 2>&1 | FileCheck %s

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{use of undeclared SSA value name}}
  return %b : tensor<4xf32>
}
// CHECK: error[SH0102]: unexpected: `%b` is not defined
// CHECK: error[SH0190]: expected error "use of undeclared SSA value name" was not produced

// -----

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %b : tensor<4xf32> // expected-error {{SH0102: `%b` is not defined}}
}

// -----

func.func private @f()
// expected-error @below {{SH0103}}
func.func private @f()
func.func private @f()
// expected-error @above {{SH0103}}
