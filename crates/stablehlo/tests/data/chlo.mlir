module {
  func.func @broadcasting(%arg0: tensor<4xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<2x4xi32>, %arg3: tensor<2x4xi1>) {
    %0 = chlo.broadcast_add %arg0, %arg1 : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %1 = chlo.broadcast_divide %arg0, %arg1 {broadcast_dimensions = array<i64: 1>} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %2 = chlo.broadcast_compare %arg0, %arg1 {compare_type = #chlo<comparison_type TOTALORDER>, comparison_direction = #chlo<comparison_direction LT>} : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
    %3 = chlo.broadcast_select %arg3, %arg0, %arg1 : (tensor<2x4xi1>, tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
    %4 = chlo.broadcast_complex %arg0, %arg1 : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xcomplex<f32>>
    %5 = chlo.mulhi %arg2, %arg2 : tensor<2x4xi32>, tensor<2x4xi32> -> tensor<2x4xi32>
    %6 = chlo._asin_acos_kernel %4 : tensor<2x4xcomplex<f32>> -> tensor<2x4xcomplex<f32>>
    %7 = "chlo.constant_like"(%arg1) <{value = 1.500000e+00 : f32}> : (tensor<2x4xf32>) -> tensor<2x4xf32>
    %values, %indices = chlo.top_k(%arg1, k = 2) : tensor<2x4xf32> -> (tensor<2x2xf32>, tensor<2x2xi32>)
    return
  }
  func.func @ragged(%arg0: tensor<11x5xf32>, %arg1: tensor<3x5x7xf32>, %arg2: tensor<3xi64>) -> tensor<11x7xf32> {
    %0 = "chlo.ragged_dot"(%arg0, %arg1, %arg2) <{precision_config = [#chlo<precision DEFAULT>, #chlo<precision HIGHEST>], ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>}> : (tensor<11x5xf32>, tensor<3x5x7xf32>, tensor<3xi64>) -> tensor<11x7xf32>
    return %0 : tensor<11x7xf32>
  }
  func.func @scan(%arg0: tensor<2x3xf32>, %arg1: tensor<3xf32>) -> tensor<2x3xf32> {
    %0:2 = chlo.scan(%arg0) inits (%arg1) dimension=0  attributes {is_associative = false, is_reverse = true} {
    ^bb0(%input: tensor<3xf32>, %carry: tensor<3xf32>):
      %1 = stablehlo.add %input, %carry : tensor<3xf32>
      stablehlo.return %1, %1 : tensor<3xf32>, tensor<3xf32>
    } : (tensor<2x3xf32>, tensor<3xf32>) -> (tensor<2x3xf32>, tensor<3xf32>)
    return %0#0 : tensor<2x3xf32>
  }
  func.func @others(%arg0: tensor<4xf32>) {
    %0 = arith.addf %arg0, %arg0 : tensor<4xf32>
    %1 = arith.addf %arg0, %arg0 fastmath<fast> : tensor<4xf32>
    %cst = arith.constant dense<1> : tensor<2xi32>
    %cast = tensor.cast %arg0 : tensor<4xf32> to tensor<?xf32>
    return
  }
}
