// An undefined value is reported with its position.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
// CHECK: error[SH0102]: `%b` is not defined
// CHECK-NEXT: unknown_value.mlir:5:26
// CHECK: 5 |   %0 = stablehlo.add %a, %b : tensor<4xf32>
// CHECK-NEXT: | ^^{{$}}
// CHECK: = help: a value must be defined before its use, in the same or an enclosing region
