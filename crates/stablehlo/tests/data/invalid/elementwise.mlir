// Element types and shapes of elementwise operations.

func.func @fits(%a: tensor<4xf32>, %b: tensor<?xf32>, %p: tensor<i1>, %lo: tensor<f32>, %z: tensor<4xcomplex<f32>>) {
  %0 = stablehlo.add %a, %a : tensor<4xf32>
  %1 = "stablehlo.multiply"(%a, %b) : (tensor<4xf32>, tensor<?xf32>) -> tensor<4xf32>
  %2 = stablehlo.select %p, %a, %a : tensor<i1>, tensor<4xf32>
  %3 = stablehlo.clamp %lo, %a, %lo : (tensor<f32>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = stablehlo.abs %z : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
  %5 = stablehlo.is_finite %a : (tensor<4xf32>) -> tensor<4xi1>
  %6 = "stablehlo.exponential"(%a) {result_accuracy = #stablehlo.result_accuracy<ulps = 2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @shapes(%a: tensor<4xf32>, %b: tensor<4x4xf32>, %c: tensor<?x8xf32>) {
  // error: SH0207 operands of stablehlo.add have different types: tensor<4xf32> and tensor<4x4xf32>
  %0 = "stablehlo.add"(%a, %b) : (tensor<4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  // error: SH0207 operands of stablehlo.maximum have different types: tensor<4x4xf32> and tensor<?x8xf32>
  %1 = "stablehlo.maximum"(%b, %c) : (tensor<4x4xf32>, tensor<?x8xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @elements(%a: tensor<4xf32>, %i: tensor<4xi32>, %u: tensor<4xui8>, %p: tensor<4xi1>) {
  // error: SH0207 operands of stablehlo.add have different types: tensor<4xf32> and tensor<4xi32>
  %0 = "stablehlo.add"(%a, %i) : (tensor<4xf32>, tensor<4xi32>) -> tensor<4xf32>
  // error: SH0207 stablehlo.tanh expects floats, complex numbers, got i32
  %1 = stablehlo.tanh %i : tensor<4xi32>
  // error: SH0207 stablehlo.and expects booleans, signed integers, unsigned integers, got f32
  %2 = stablehlo.and %a, %a : tensor<4xf32>
  // error: SH0207 stablehlo.shift_left expects signed integers, unsigned integers, got i1
  %3 = stablehlo.shift_left %p, %p : tensor<4xi1>
  // error: SH0207 stablehlo.abs expects signed integers, floats, complex numbers, got ui8
  %4 = stablehlo.abs %u : tensor<4xui8>
  // error: SH0207 stablehlo.popcnt expects signed integers, unsigned integers, got f32
  %5 = stablehlo.popcnt %a : tensor<4xf32>
  // error: SH0207 stablehlo.complex expects floats, got i32
  %6 = stablehlo.complex %i, %i : (tensor<4xi32>, tensor<4xi32>) -> tensor<4xcomplex<f32>>
  return
}

// -----

func.func @results(%a: tensor<4xf32>, %z: tensor<4xcomplex<f32>>) {
  // error: SH0207 result 0 of stablehlo.negate is tensor<4xf64>, expected tensor<4xf32>
  %0 = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<4xf64>
  // error: SH0207 result 0 of stablehlo.negate is tensor<5xf32>, expected tensor<4xf32>
  %1 = "stablehlo.negate"(%a) : (tensor<4xf32>) -> tensor<5xf32>
  // error: SH0207 result 0 of stablehlo.abs is tensor<4xcomplex<f32>>, expected tensor<4xf32>
  %2 = "stablehlo.abs"(%z) : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
  // error: SH0207 result 0 of stablehlo.compare is tensor<4xf32>, expected tensor<4xi1>
  %3 = "stablehlo.compare"(%a, %a) <{comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // error: SH0207 stablehlo.is_finite does not support values of type tensor<4xi10>
  %4 = "stablehlo.is_finite"(%a) : (tensor<4xf32>) -> tensor<4xi10>
  return
}

// -----

func.func @selections(%p: tensor<4xf32>, %q: tensor<3xi1>, %a: tensor<4xf32>, %b: tensor<2xf32>) {
  // error: SH0207 the predicate of select must be i1, got tensor<4xf32>
  %0 = "stablehlo.select"(%p, %a, %a) : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // error: SH0207 the predicate of select has shape [3], but the other operands have shape [4]
  %1 = "stablehlo.select"(%q, %a, %a) : (tensor<3xi1>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // error: SH0207 the lower bound of clamp is tensor<2xf32>, but the operand is tensor<4xf32>
  %2 = "stablehlo.clamp"(%b, %a, %a) : (tensor<2xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @accuracies(%a: tensor<4xf32>) {
  // error: SH0216 the result_accuracy of stablehlo.cosine has a tolerance (atol = 1) together with mode HIGHEST
  %0 = "stablehlo.cosine"(%a) {result_accuracy = #stablehlo.result_accuracy<atol = 1.0, mode = #stablehlo.result_accuracy_mode<HIGHEST>>} : (tensor<4xf32>) -> tensor<4xf32>
  // error: SH0216 the result_accuracy of stablehlo.cosine has a negative tolerance, ulps = -2
  %1 = "stablehlo.cosine"(%a) {result_accuracy = #stablehlo.result_accuracy<ulps = -2, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : (tensor<4xf32>) -> tensor<4xf32>
  // error: SH0207 reduce_precision needs at least one exponent bit
  %2 = "stablehlo.reduce_precision"(%a) <{exponent_bits = 0 : i32, mantissa_bits = 3 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  return
}
