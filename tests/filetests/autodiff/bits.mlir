// The bits of a differentiated float may be compared or counted, but a bitcast back to float is rejected: its
// derivative would be lost.
// RUN: split-file %s %t
// RUN: not shardc grad %t/refused.mlir --wrt x 2>&1 | FileCheck %s --check-prefix=REFUSED
// RUN: shardc grad %t/compared.mlir --wrt x | FileCheck %s --check-prefix=COMPARED

// REFUSED: error[SH1001]: stablehlo.bitcast_convert cannot be differentiated: its bits are converted back to floating point
// REFUSED: use stop_gradient before it
// COMPARED: return

//--- refused.mlir
func.func @main(%x: tensor<f32> loc("x")) -> tensor<f32> {
  %mask = stablehlo.constant dense<-4096> : tensor<i32>
  %bits = stablehlo.bitcast_convert %x : (tensor<f32>) -> tensor<i32>
  %high = stablehlo.and %bits, %mask : tensor<i32>
  %0 = stablehlo.bitcast_convert %high : (tensor<i32>) -> tensor<f32>
  return %0 : tensor<f32>
}

//--- compared.mlir
func.func @main(%x: tensor<f32> loc("x")) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %bits = stablehlo.bitcast_convert %x : (tensor<f32>) -> tensor<i32>
  %is_negative = stablehlo.compare LT, %bits, %zero, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
  %negated = stablehlo.negate %x : tensor<f32>
  %0 = stablehlo.select %is_negative, %negated, %x : tensor<i1>, tensor<f32>
  return %0 : tensor<f32>
}
