module @regions {
  func.func @reduce(%arg0: tensor<4x8xf32>, %arg1: tensor<4x8xi32>, %arg2: tensor<f32>, %arg3: tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>) {
    %0 = stablehlo.reduce(%arg0 init: %arg2) applies stablehlo.maximum across dimensions = [1] {x} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %1:2 = stablehlo.reduce(%arg0 init: %arg2), (%arg1 init: %arg3) across dimensions = [1] : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
     reducer(%arg4: tensor<f32>, %arg6: tensor<f32>) (%arg5: tensor<i32>, %arg7: tensor<i32>)  {
      %4 = stablehlo.compare GE, %arg4, %arg6, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %5 = stablehlo.select %4, %arg4, %arg6 : tensor<i1>, tensor<f32>
      %6 = stablehlo.select %4, %arg5, %arg7 : tensor<i1>, tensor<i32>
      stablehlo.return %5, %6 : tensor<f32>, tensor<i32>
    }
    %2 = stablehlo.reduce(%arg0 init: %arg2) across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
     reducer(%arg4: tensor<f32>, %arg5: tensor<f32>)  {
      %4 = stablehlo.subtract %arg4, %arg5 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }
    %3 = stablehlo.reduce(%arg0 init: %arg2) across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
     reducer(%arg4: tensor<f32>, %arg5: tensor<f32>)  {
      %4 = stablehlo.add %arg5, %arg4 : tensor<f32>
      stablehlo.return %4 : tensor<f32>
    }
    return %0, %1#1 : tensor<4xf32>, tensor<4xi32>
  }
  func.func @loops(%arg0: tensor<4xf32>, %arg1: tensor<i32>, %arg2: tensor<i1>) -> tensor<4xf32> {
    %c = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %arg1, %iterArg_0 = %arg0) : tensor<i32>, tensor<4xf32> attributes {mhlo.frontend_attributes = {trip = "3"}}
    cond {
      %3 = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %3 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<2> : tensor<i32>
      %3 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      %4:2 = stablehlo.while(%iterArg_2 = %3, %iterArg_3 = %iterArg_0) : tensor<i32>, tensor<4xf32>
      cond {
        %5 = stablehlo.compare LT, %iterArg_2, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %5 : tensor<i1>
      } do {
        %cst = stablehlo.constant dense<5.000000e-01> : tensor<4xf32>
        %5 = func.call @loops(%iterArg_3, %iterArg_2, %arg2) : (tensor<4xf32>, tensor<i32>, tensor<i1>) -> tensor<4xf32>
        stablehlo.return %iterArg_2, %5 : tensor<i32>, tensor<4xf32>
      }
      stablehlo.return %4#0, %4#1 : tensor<i32>, tensor<4xf32>
    }
    %1 = "stablehlo.if"(%arg2) ({
      %3 = stablehlo.negate %0#1 : tensor<4xf32>
      stablehlo.return %3 : tensor<4xf32>
    }, {
      stablehlo.return %0#1 : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    %2:2 = "stablehlo.case"(%arg1) ({
      stablehlo.return %1, %arg1 : tensor<4xf32>, tensor<i32>
    }, {
      stablehlo.return %arg0, %arg1 : tensor<4xf32>, tensor<i32>
    }) {a = 1 : i64} : (tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
    return %2#0 : tensor<4xf32>
  }
  func.func @windows(%arg0: tensor<4x8xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<f32>, %arg3: tensor<3x1xi32>, %arg4: tensor<3x8xf32>, %arg5: tensor<2x8x8x3xf32>, %arg6: tensor<3x3x3x6xf32>) -> tensor<4x8xf32> {
    %0 = "stablehlo.reduce_window"(%arg0, %arg2) <{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %7 = stablehlo.add %arg7, %arg8 : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %1 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %7 = stablehlo.compare GE, %arg7, %arg8, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    }, {
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %7 = stablehlo.add %arg7, %arg8 : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<2x4xf32>, tensor<f32>) -> tensor<4x8xf32>
    %2:2 = "stablehlo.sort"(%arg0, %arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>, %arg9: tensor<f32>, %arg10: tensor<f32>):
      %7 = stablehlo.compare LT, %arg7, %arg8, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %3 = "stablehlo.gather"(%arg0, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
    %4 = "stablehlo.scatter"(%arg0, %arg3, %arg4) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %7 = stablehlo.add %arg7, %arg8 : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    %5 = stablehlo.convolution(%arg5, %arg6) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [2, 2], pad = [[1, 1], [0, 1]], lhs_dilate = [1, 1], rhs_dilate = [1, 2], reverse = [false, true]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>]} : (tensor<2x8x8x3xf32>, tensor<3x3x3x6xf32>) -> tensor<2x4x3x6xf32>
    %6 = stablehlo.convolution(%arg5, %arg6) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x8x8x3xf32>, tensor<3x3x3x6xf32>) -> tensor<2x6x6x6xf32>
    return %4 : tensor<4x8xf32>
  }
}
