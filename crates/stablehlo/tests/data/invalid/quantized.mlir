// Quantized elements.

!q = !quant.uniform<i8:f32, 0.5:3>
!qz = !quant.uniform<i8:f32, 0.5>
!axis = !quant.uniform<i8:f32:1, {0.5,0.25}>
func.func @fits(%a: tensor<4x2x!q>, %w: tensor<2x3x!qz>, %f: tensor<4x2xf32>, %x: tensor<4x2x!axis>) {
  %0 = stablehlo.add %a, %a : tensor<4x2x!q>
  %1 = "stablehlo.add"(%x, %x) : (tensor<4x2x!axis>, tensor<4x2x!axis>) -> tensor<4x2x!quant.uniform<i8:f32:1, {0.125,0.25}>>
  %2 = stablehlo.uniform_quantize %f : (tensor<4x2xf32>) -> tensor<4x2x!q>
  %3 = stablehlo.uniform_dequantize %a : (tensor<4x2x!q>) -> tensor<4x2xf32>
  %4 = "stablehlo.dot_general"(%a, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x2x!q>, tensor<2x3x!qz>) -> tensor<4x3x!quant.uniform<i32:f32, 0.5>>
  %5 = "stablehlo.dot_general"(%f, %w) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x2xf32>, tensor<2x3x!qz>) -> tensor<4x3xf32>
  %6 = stablehlo.tanh %a : tensor<4x2x!q>
  %7 = stablehlo.transpose %x, dims = [1, 0] : (tensor<4x2x!axis>) -> tensor<2x4x!quant.uniform<i8:f32:0, {0.5,0.25}>>
  %8 = stablehlo.reshape %a : (tensor<4x2x!q>) -> tensor<8x!q>
  %9 = stablehlo.slice %a [0:2, 0:2] : (tensor<4x2x!q>) -> tensor<2x2x!q>
  return
}

// -----

!q = !quant.uniform<i8:f32, 0.5:3>
!axis = !quant.uniform<i8:f32:1, {0.5,0.25}>
func.func @adds(%a: tensor<4x2x!q>, %f: tensor<4x2xf32>, %x: tensor<4x2x!axis>) {
  // error: SH0207 add of tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> and tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> gives tensor<4x2xf32>: either all types or none must be quantized
  %0 = "stablehlo.add"(%a, %a) : (tensor<4x2x!q>, tensor<4x2x!q>) -> tensor<4x2xf32>
  // error: SH0207 add of tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> and tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> gives tensor<4x2x!quant.uniform<i16:f32, 5.000000e-01:3>>: the storage types differ
  %1 = "stablehlo.add"(%a, %a) : (tensor<4x2x!q>, tensor<4x2x!q>) -> tensor<4x2x!quant.uniform<i16:f32, 0.5:3>>
  // error: SH0207 add of tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> and tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> gives tensor<4x2x!quant.uniform<i8:f16, 5.000000e-01:3>>: the expressed types differ
  %2 = "stablehlo.add"(%a, %a) : (tensor<4x2x!q>, tensor<4x2x!q>) -> tensor<4x2x!quant.uniform<i8:f16, 0.5:3>>
  // error: SH0207 add of tensor<4x2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>> and tensor<4x2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>> gives tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>>: the quantization dimensions differ
  %3 = "stablehlo.add"(%x, %x) : (tensor<4x2x!axis>, tensor<4x2x!axis>) -> tensor<4x2x!q>
  // error: SH0207 add of tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> and tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> gives tensor<4x2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>>: only the result is quantized per axis
  %4 = "stablehlo.add"(%a, %a) : (tensor<4x2x!q>, tensor<4x2x!q>) -> tensor<4x2x!axis>
  return
}

// -----

!q = !quant.uniform<i8:f32, 0.5:3>
!axis = !quant.uniform<i8:f32:1, {0.5,0.25}>
func.func @takes(%a: tensor<4x2x!q>, %f: tensor<4x2xf32>, %x: tensor<4x2x!axis>) {
  // error: SH0207 stablehlo.tanh does not support per-axis quantized elements, got tensor<4x2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>>
  %0 = stablehlo.tanh %x : tensor<4x2x!axis>
  // error: SH0207 stablehlo.convert does not support quantized elements, got tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %1 = "stablehlo.convert"(%a) : (tensor<4x2x!q>) -> tensor<4x2xf32>
  // error: SH0207 stablehlo.multiply has operands or a result with incompatible element types: tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> and tensor<4x2xf32>
  %2 = "stablehlo.multiply"(%a, %f) : (tensor<4x2x!q>, tensor<4x2xf32>) -> tensor<4x2x!q>
  // error: SH0207 stablehlo.multiply has operands or a result with incompatible element types: tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> and tensor<4x2x!quant.uniform<u8:f32, 5.000000e-01:3>>
  %3 = "stablehlo.multiply"(%a, %a) : (tensor<4x2x!q>, tensor<4x2x!q>) -> tensor<4x2x!quant.uniform<u8:f32, 0.5:3>>
  // error: SH0207 result 0 of stablehlo.slice is tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>, expected tensor<2x2x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %4 = stablehlo.slice %a [0:2, 0:2] : (tensor<4x2x!q>) -> tensor<2x3x!q>
  // error: SH0207 uniform_quantize of tensor<4x2xf32> gives tensor<4x2x!quant.uniform<i8:f16, 5.000000e-01:3>>, which has a different expressed type
  %5 = "stablehlo.uniform_quantize"(%f) : (tensor<4x2xf32>) -> tensor<4x2x!quant.uniform<i8:f16, 0.5:3>>
  // error: SH0207 uniform_dequantize of tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> gives tensor<4x2xf64>, which does not have the expressed type
  %6 = "stablehlo.uniform_dequantize"(%a) : (tensor<4x2x!q>) -> tensor<4x2xf64>
  return
}

// -----

!q = !quant.uniform<i8:f32, 0.5:3>
!axis = !quant.uniform<i8:f32:1, {0.5,0.25}>
func.func @moves(%a: tensor<4x2x!q>, %x: tensor<4x2x!axis>, %y: tensor<4x1x!quant.uniform<i8:f32:1, {0.5}>>) {
  // error: SH0207 stablehlo.transpose of tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> gives tensor<2x4x!quant.uniform<i8:f32, 2.500000e-01:3>>: scales and zero points must not change
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<4x2x!q>) -> tensor<2x4x!quant.uniform<i8:f32, 0.25:3>>
  // error: SH0207 transpose of tensor<4x2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>> gives tensor<4x2x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01,5.000000e-01,5.000000e-01}>>: quantization dimension 1 of the operand is not dimension 0 of the result
  %1 = stablehlo.transpose %x, dims = [0, 1] : (tensor<4x2x!axis>) -> tensor<4x2x!quant.uniform<i8:f32:0, {0.5,0.25,0.5,0.5}>>
  // error: SH0207 stablehlo.reshape of tensor<4x2x!quant.uniform<i8:f32, 5.000000e-01:3>> gives tensor<8x!quant.uniform<i8:f32, 5.000000e-01:4>>: scales and zero points must not change
  %2 = stablehlo.reshape %a : (tensor<4x2x!q>) -> tensor<8x!quant.uniform<i8:f32, 0.5:4>>
  // error: SH0207 reshape of tensor<4x2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>> gives tensor<2x4x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>>: 4 and 1 elements precede the quantization dimensions
  %3 = stablehlo.reshape %x : (tensor<4x2x!axis>) -> tensor<2x4x!quant.uniform<i8:f32:0, {0.5,0.25}>>
  // error: SH0207 stablehlo.broadcast_in_dim of tensor<4x1x!quant.uniform<i8:f32:1, {5.000000e-01}>> gives tensor<4x2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>>: the broadcast scale and zero point must not change
  %4 = stablehlo.broadcast_in_dim %y, dims = [0, 1] : (tensor<4x1x!quant.uniform<i8:f32:1, {0.5}>>) -> tensor<4x2x!axis>
  return
}

// -----

!q = !quant.uniform<i8:f32, 0.5:3>
!qz = !quant.uniform<i8:f32, 0.5>
!rows = !quant.uniform<i8:f32:0, {0.5,0.25}>
func.func @products(%a: tensor<4x2x!q>, %b: tensor<2x3x!q>, %c: tensor<2x3x!rows>, %d: tensor<2x3x!qz>, %f: tensor<4x2xf32>) {
  // error: SH0207 the right operand of stablehlo.dot_general must have zero points of 0, got tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01:3>>
  %0 = "stablehlo.dot_general"(%a, %b) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x2x!q>, tensor<2x3x!q>) -> tensor<4x3x!q>
  // error: SH0207 the right operand of stablehlo.dot_general cannot be quantized along a contracting dimension, got tensor<2x3x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>>
  %1 = "stablehlo.dot_general"(%a, %c) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x2x!q>, tensor<2x3x!rows>) -> tensor<4x3x!q>
  // error: SH0207 stablehlo.dot_general of tensor<4x2xf32> and tensor<2x3x!quant.uniform<i8:f32, 5.000000e-01>> gives tensor<4x3x!quant.uniform<i8:f32, 5.000000e-01:3>>: either all types or only the right operand must be quantized
  %2 = "stablehlo.dot_general"(%f, %d) <{dot_dimension_numbers = #stablehlo.dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]>}> : (tensor<4x2xf32>, tensor<2x3x!qz>) -> tensor<4x3x!q>
  return
}

// -----

// error: SH0217 the zero point 200 of tensor<2x!quant.uniform<i8:f32, 5.000000e-01:200>> is outside the storage range, -128 to 127
func.func @zero_point(%a: tensor<2x!quant.uniform<i8:f32, 0.5:200>>) {
  return
}
// error: SH0217 tensor<2x!quant.uniform<i8:f32:1, {5.000000e-01,2.500000e-01}>> has quantization dimension 1, but it has 1 dimensions
func.func @axis(%a: tensor<2x!quant.uniform<i8:f32:1, {0.5,0.25}>>) {
  return
}
// error: SH0217 tensor<3x!quant.uniform<i8:f32:0, {5.000000e-01,2.500000e-01}>> has 2 scales, but quantization dimension 0 has size 3
func.func @count(%a: tensor<3x!quant.uniform<i8:f32:0, {0.5,0.25}>>) {
  return
}

// -----

// error: SH0110 the scale 1.000000e+06 is out of range for f16
func.func @scale(%a: tensor<2x!quant.uniform<i8:f16, 1.0e+06>>) {
  return
}

// -----

func.func @si(%a: tensor<4x!quant.uniform<si8:f32, 0.5>>) -> tensor<4xf32> {
  // error: SH0207 stablehlo.uniform_dequantize does not support quantized elements with `si` storage, got tensor<4x!quant.uniform<si8:f32, 5.000000e-01>>; write `i`
  %0 = stablehlo.uniform_dequantize %a : (tensor<4x!quant.uniform<si8:f32, 0.5>>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @stored_otherwise() {
  // error: SH0104 a constant of type tensor<2xui8> must have a result of the same type
  %0 = stablehlo.constant() <{value = dense<[1, 2]> : tensor<2xui8>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}

// -----

func.func @stored_wider() {
  // error: SH0104 a constant of type tensor<2xi16> must have a result of the same type
  %0 = stablehlo.constant() <{value = dense<[1, 2]> : tensor<2xi16>}> : () -> tensor<2x!quant.uniform<i8:f32, 0.5>>
  return
}
