"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4xf32>, tensor<2x4xf32>, tensor<2x4xi32>, tensor<2x4xi1>) -> (), sym_name = "broadcasting"}> ({
  ^bb0(%arg8: tensor<4xf32>, %arg9: tensor<2x4xf32>, %arg10: tensor<2x4xi32>, %arg11: tensor<2x4xi1>):
    %7 = "chlo.broadcast_add"(%arg8, %arg9) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %8 = "chlo.broadcast_divide"(%arg8, %arg9) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %9 = "chlo.broadcast_compare"(%arg8, %arg9) <{compare_type = #chlo<comparison_type TOTALORDER>, comparison_direction = #chlo<comparison_direction LT>}> : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %10 = "chlo.broadcast_select"(%arg11, %arg8, %arg9) : (tensor<2x4xi1>, tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %11 = "chlo.broadcast_complex"(%arg8, %arg9) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xcomplex<f32>>
    %12 = "chlo.mulhi"(%arg10, %arg10) : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<2x4xi32>
    %13 = "chlo._asin_acos_kernel"(%11) : (tensor<2x4xcomplex<f32>>) -> tensor<2x4xcomplex<f32>>
    %14 = "chlo.constant_like"(%arg9) <{value = 1.500000e+00 : f32}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %15:2 = "chlo.top_k"(%arg9) <{k = 2 : i64}> : (tensor<2x4xf32>) -> (tensor<2x2xf32>, tensor<2x2xi32>)
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>, sym_name = "ragged"}> ({
  ^bb0(%arg5: tensor<11x5xf32>, %arg6: tensor<3x5x7xf32>, %arg7: tensor<3xi64>):
    %6 = "chlo.ragged_dot"(%arg5, %arg6, %arg7) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
    "func.return"(%6) : (tensor<11x7xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>, sym_name = "scan"}> ({
  ^bb0(%arg1: tensor<2x3xf32>, %arg2: tensor<3xf32>):
    %4:2 = "chlo.scan"(%arg1, %arg2) <{dimension = 0 : i64, is_associative = false, is_reverse = true, operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>}> ({
    ^bb0(%arg3: tensor<3xf32>, %arg4: tensor<3xf32>):
      %5 = "stablehlo.add"(%arg3, %arg4) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      "stablehlo.return"(%5, %5) : (tensor<3xf32>, tensor<3xf32>) -> ()
    }) : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
    "func.return"(%4#0) : (tensor<2x3xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> (), sym_name = "others"}> ({
  ^bb0(%arg0: tensor<4xf32>):
    %0 = "arith.addf"(%arg0, %arg0) <{fastmath = #arith.fastmath<none>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = "arith.addf"(%arg0, %arg0) <{fastmath = #arith.fastmath<fast>}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %2 = "arith.constant"() <{value = dense<1> : tensor<2xi32>}> : () -> tensor<2xi32>
    %3 = "tensor.cast"(%arg0) : (tensor<4xf32>) -> tensor<?xf32>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
