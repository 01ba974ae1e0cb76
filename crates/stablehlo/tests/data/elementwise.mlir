module @elementwise {
  func.func @unary(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi32>, %arg2: tensor<4xcomplex<f32>>) -> tensor<4x8xf32> {
    %0 = stablehlo.abs %arg0 : tensor<4x8xf32>
    %1 = stablehlo.cbrt %0 : tensor<4x8xf32>
    %2 = stablehlo.ceil %1 : tensor<4x8xf32>
    %3 = stablehlo.cosine %2 : tensor<4x8xf32>
    %4 = stablehlo.exponential %3 {result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>} : tensor<4x8xf32>
    %5 = stablehlo.exponential_minus_one %4 : tensor<4x8xf32>
    %6 = stablehlo.floor %5 : tensor<4x8xf32>
    %7 = stablehlo.log %6 : tensor<4x8xf32>
    %8 = stablehlo.log_plus_one %7 : tensor<4x8xf32>
    %9 = stablehlo.logistic %8 : tensor<4x8xf32>
    %10 = stablehlo.negate %9 {mhlo.frontend_attributes = {a = "b"}, name = "x"} : tensor<4x8xf32>
    %11 = stablehlo.round_nearest_afz %10 : tensor<4x8xf32>
    %12 = stablehlo.round_nearest_even %11 : tensor<4x8xf32>
    %13 = stablehlo.rsqrt %12 : tensor<4x8xf32>
    %14 = stablehlo.sign %13 : tensor<4x8xf32>
    %15 = stablehlo.sine %14 : tensor<4x8xf32>
    %16 = stablehlo.sqrt %15 : tensor<4x8xf32>
    %17 = stablehlo.tan %16 : tensor<4x8xf32>
    %18 = stablehlo.tanh %17 : tensor<4x8xf32>
    %19 = stablehlo.is_finite %18 : (tensor<4x8xf32>) -> tensor<4x8xi1>
    %20 = stablehlo.count_leading_zeros %arg1 : tensor<4x8xi32>
    %21 = stablehlo.popcnt %20 : tensor<4x8xi32>
    %22 = stablehlo.not %21 : tensor<4x8xi32>
    %23 = stablehlo.abs %arg2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %24 = stablehlo.real %arg2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %25 = stablehlo.imag %arg2 : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %26 = stablehlo.complex %24, %25 : tensor<4xcomplex<f32>>
    %27 = stablehlo.convert %22 : (tensor<4x8xi32>) -> tensor<4x8xf32>
    %28 = stablehlo.convert %27 : tensor<4x8xf32>
    %29 = stablehlo.bitcast_convert %28 : (tensor<4x8xf32>) -> tensor<4x8xi32>
    %30 = stablehlo.reduce_precision %28, format = e5m10 : tensor<4x8xf32>
    return %30 : tensor<4x8xf32>
  }
  func.func @chlo(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = chlo.acos %arg0 : tensor<4xf32> -> tensor<4xf32>
    %1 = chlo.bessel_i1e %0 : tensor<4xf32> -> tensor<4xf32>
    %2 = chlo.erf %1 : tensor<4xf32> -> tensor<4xf32>
    %3 = chlo.erf_inv %2 : tensor<4xf32> -> tensor<4xf32>
    %4 = chlo.erfc %3 : tensor<4xf32> -> tensor<4xf32>
    %5 = chlo.lgamma %4 : tensor<4xf32> -> tensor<4xf32>
    %6 = chlo.digamma %5 : tensor<4xf32> -> tensor<4xf32>
    %7 = chlo.is_inf %6 : tensor<4xf32> -> tensor<4xi1>
    %8 = chlo.square %6 : tensor<4xf32> -> tensor<4xf32>
    %9 = chlo.next_after %8, %6 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %10 = chlo.polygamma %9, %6 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %11 = chlo.zeta %10, %6 : tensor<4xf32>, tensor<4xf32> -> tensor<4xf32>
    %12 = chlo.conj %11 : tensor<4xf32> -> tensor<4xf32>
    %values, %indices = chlo.top_k(%12, k = 2) : tensor<4xf32> -> (tensor<2xf32>, tensor<2xi32>)
    %values_0, %indices_1 = chlo.top_k(%values, k = 1) : tensor<2xf32> -> (tensor<1xf32>, tensor<1xi32>)
    return %11 : tensor<4xf32>
  }
  func.func @binary(%arg0: tensor<?x4xf32>, %arg1: tensor<?x4xf32>, %arg2: tensor<?x4xi1>, %arg3: tensor<i1>, %arg4: tensor<4xui8>) -> tensor<?x4xi1> {
    %0 = stablehlo.add %arg0, %arg1 : tensor<?x4xf32>
    %1 = stablehlo.atan2 %0, %arg1 : tensor<?x4xf32>
    %2 = stablehlo.divide %1, %arg1 : tensor<?x4xf32>
    %3 = stablehlo.maximum %2, %arg1 : tensor<?x4xf32>
    %4 = stablehlo.minimum %3, %arg1 : tensor<?x4xf32>
    %5 = stablehlo.multiply %4, %arg1 : tensor<?x4xf32>
    %6 = stablehlo.power %5, %arg1 : tensor<?x4xf32>
    %7 = stablehlo.remainder %6, %arg1 : tensor<?x4xf32>
    %8 = stablehlo.subtract %7, %arg1 : tensor<?x4xf32>
    %9 = stablehlo.and %arg2, %arg2 : tensor<?x4xi1>
    %10 = stablehlo.or %9, %arg2 : tensor<?x4xi1>
    %11 = stablehlo.xor %10, %arg2 : tensor<?x4xi1>
    %12 = stablehlo.shift_left %arg4, %arg4 : tensor<4xui8>
    %13 = stablehlo.shift_right_arithmetic %12, %arg4 : tensor<4xui8>
    %14 = stablehlo.shift_right_logical %13, %arg4 : tensor<4xui8>
    %15 = stablehlo.select %11, %8, %arg1 : tensor<?x4xi1>, tensor<?x4xf32>
    %16 = stablehlo.select %arg3, %8, %arg1 : tensor<i1>, tensor<?x4xf32>
    %17 = stablehlo.clamp %arg0, %15, %arg1 : tensor<?x4xf32>
    %18 = stablehlo.compare GT, %17, %arg1 : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xi1>
    %19 = stablehlo.compare LE, %17, %arg1, TOTALORDER {a} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xi1>
    %20 = stablehlo.add %14, %14 : tensor<4xui8>
    %c = stablehlo.constant dense<0> : tensor<ui8>
    %21 = stablehlo.clamp %c, %20, %c : (tensor<ui8>, tensor<4xui8>, tensor<ui8>) -> tensor<4xui8>
    return %19 : tensor<?x4xi1>
  }
}
