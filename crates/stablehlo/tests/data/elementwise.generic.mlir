"builtin.module"() <{sym_name = "elementwise"}> ({
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>, tensor<4xcomplex<f32>>) -> tensor<4x8xf32>, sym_name = "unary"}> ({
  ^bb0(%arg6: tensor<4x8xf32>, %arg7: tensor<4x8xi32>, %arg8: tensor<4xcomplex<f32>>):
    %38 = "stablehlo.abs"(%arg6) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %39 = "stablehlo.cbrt"(%38) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %40 = "stablehlo.ceil"(%39) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %41 = "stablehlo.cosine"(%40) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %42 = "stablehlo.exponential"(%41) <{result_accuracy = #stablehlo.result_accuracy<ulps = 10, mode = #stablehlo.result_accuracy_mode<TOLERANCE>>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %43 = "stablehlo.exponential_minus_one"(%42) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %44 = "stablehlo.floor"(%43) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %45 = "stablehlo.log"(%44) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %46 = "stablehlo.log_plus_one"(%45) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %47 = "stablehlo.logistic"(%46) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %48 = "stablehlo.negate"(%47) {mhlo.frontend_attributes = {a = "b"}, name = "x"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %49 = "stablehlo.round_nearest_afz"(%48) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %50 = "stablehlo.round_nearest_even"(%49) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %51 = "stablehlo.rsqrt"(%50) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %52 = "stablehlo.sign"(%51) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %53 = "stablehlo.sine"(%52) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %54 = "stablehlo.sqrt"(%53) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %55 = "stablehlo.tan"(%54) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %56 = "stablehlo.tanh"(%55) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %57 = "stablehlo.is_finite"(%56) : (tensor<4x8xf32>) -> tensor<4x8xi1>
    %58 = "stablehlo.count_leading_zeros"(%arg7) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    %59 = "stablehlo.popcnt"(%58) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    %60 = "stablehlo.not"(%59) : (tensor<4x8xi32>) -> tensor<4x8xi32>
    %61 = "stablehlo.abs"(%arg8) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %62 = "stablehlo.real"(%arg8) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %63 = "stablehlo.imag"(%arg8) : (tensor<4xcomplex<f32>>) -> tensor<4xf32>
    %64 = "stablehlo.complex"(%62, %63) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xcomplex<f32>>
    %65 = "stablehlo.convert"(%60) : (tensor<4x8xi32>) -> tensor<4x8xf32>
    %66 = "stablehlo.convert"(%65) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %67 = "stablehlo.bitcast_convert"(%66) : (tensor<4x8xf32>) -> tensor<4x8xi32>
    %68 = "stablehlo.reduce_precision"(%66) <{exponent_bits = 5 : i32, mantissa_bits = 10 : i32}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    "func.return"(%68) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "chlo"}> ({
  ^bb0(%arg5: tensor<4xf32>):
    %23 = "chlo.acos"(%arg5) : (tensor<4xf32>) -> tensor<4xf32>
    %24 = "chlo.bessel_i1e"(%23) : (tensor<4xf32>) -> tensor<4xf32>
    %25 = "chlo.erf"(%24) : (tensor<4xf32>) -> tensor<4xf32>
    %26 = "chlo.erf_inv"(%25) : (tensor<4xf32>) -> tensor<4xf32>
    %27 = "chlo.erfc"(%26) : (tensor<4xf32>) -> tensor<4xf32>
    %28 = "chlo.lgamma"(%27) : (tensor<4xf32>) -> tensor<4xf32>
    %29 = "chlo.digamma"(%28) : (tensor<4xf32>) -> tensor<4xf32>
    %30 = "chlo.is_inf"(%29) : (tensor<4xf32>) -> tensor<4xi1>
    %31 = "chlo.square"(%29) : (tensor<4xf32>) -> tensor<4xf32>
    %32 = "chlo.next_after"(%31, %29) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %33 = "chlo.polygamma"(%32, %29) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %34 = "chlo.zeta"(%33, %29) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %35 = "chlo.conj"(%34) : (tensor<4xf32>) -> tensor<4xf32>
    %36:2 = "chlo.top_k"(%35) <{k = 2 : i64}> : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi32>)
    %37:2 = "chlo.top_k"(%36#0) <{k = 1 : i64}> : (tensor<2xf32>) -> (tensor<1xf32>, tensor<1xi32>)
    "func.return"(%34) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xi1>, tensor<i1>, tensor<4xui8>) -> tensor<?x4xi1>, sym_name = "binary"}> ({
  ^bb0(%arg0: tensor<?x4xf32>, %arg1: tensor<?x4xf32>, %arg2: tensor<?x4xi1>, %arg3: tensor<i1>, %arg4: tensor<4xui8>):
    %0 = "stablehlo.add"(%arg0, %arg1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %1 = "stablehlo.atan2"(%0, %arg1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = "stablehlo.divide"(%1, %arg1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %3 = "stablehlo.maximum"(%2, %arg1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %4 = "stablehlo.minimum"(%3, %arg1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %5 = "stablehlo.multiply"(%4, %arg1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %6 = "stablehlo.power"(%5, %arg1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %7 = "stablehlo.remainder"(%6, %arg1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %8 = "stablehlo.subtract"(%7, %arg1) : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %9 = "stablehlo.and"(%arg2, %arg2) : (tensor<?x4xi1>, tensor<?x4xi1>) -> tensor<?x4xi1>
    %10 = "stablehlo.or"(%9, %arg2) : (tensor<?x4xi1>, tensor<?x4xi1>) -> tensor<?x4xi1>
    %11 = "stablehlo.xor"(%10, %arg2) : (tensor<?x4xi1>, tensor<?x4xi1>) -> tensor<?x4xi1>
    %12 = "stablehlo.shift_left"(%arg4, %arg4) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    %13 = "stablehlo.shift_right_arithmetic"(%12, %arg4) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    %14 = "stablehlo.shift_right_logical"(%13, %arg4) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    %15 = "stablehlo.select"(%11, %8, %arg1) : (tensor<?x4xi1>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %16 = "stablehlo.select"(%arg3, %8, %arg1) : (tensor<i1>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %17 = "stablehlo.clamp"(%arg0, %15, %arg1) : (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %18 = "stablehlo.compare"(%17, %arg1) <{comparison_direction = #stablehlo<comparison_direction GT>}> : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xi1>
    %19 = "stablehlo.compare"(%17, %arg1) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LE>}> {a} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xi1>
    %20 = "stablehlo.add"(%14, %14) : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
    %21 = "stablehlo.constant"() <{value = dense<0> : tensor<ui8>}> : () -> tensor<ui8>
    %22 = "stablehlo.clamp"(%21, %20, %21) : (tensor<ui8>, tensor<4xui8>, tensor<ui8>) -> tensor<4xui8>
    "func.return"(%19) : (tensor<?x4xi1>) -> ()
  }) : () -> ()
}) : () -> ()
