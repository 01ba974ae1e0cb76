// A clamp bound that is the operand itself has no effect:
// the derivative is 1, not that of a tie.
// RUN: shardc grad %s --wrt x -o - | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NOT: stablehlo.compare
// CHECK: return
func.func @main(%x: tensor<f32> loc("x")) -> tensor<f32> {
  %0 = stablehlo.clamp %x, %x, %x : tensor<f32>
  return %0 : tensor<f32>
}
