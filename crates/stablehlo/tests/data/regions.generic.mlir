"builtin.module"() <{sym_name = "regions"}> ({
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>), sym_name = "reduce"}> ({
  ^bb0(%arg30: tensor<4x8xf32>, %arg31: tensor<4x8xi32>, %arg32: tensor<f32>, %arg33: tensor<i32>):
    %24 = "stablehlo.reduce"(%arg30, %arg32) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg42: tensor<f32>, %arg43: tensor<f32>):
      %33 = "stablehlo.maximum"(%arg42, %arg43) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%33) : (tensor<f32>) -> ()
    }) {x} : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
    %25:2 = "stablehlo.reduce"(%arg30, %arg31, %arg32, %arg33) <{dimensions = array<i64: 1>}> ({
    ^bb0(%arg38: tensor<f32>, %arg39: tensor<i32>, %arg40: tensor<f32>, %arg41: tensor<i32>):
      %30 = "stablehlo.compare"(%arg38, %arg40) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %31 = "stablehlo.select"(%30, %arg38, %arg40) : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
      %32 = "stablehlo.select"(%30, %arg39, %arg41) : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
      "stablehlo.return"(%31, %32) : (tensor<f32>, tensor<i32>) -> ()
    }) : (tensor<4x8xf32>, tensor<4x8xi32>, tensor<f32>, tensor<i32>) -> (tensor<4xf32>, tensor<4xi32>)
    %26 = "stablehlo.reduce"(%arg30, %arg32) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg36: tensor<f32>, %arg37: tensor<f32>):
      %29 = "stablehlo.subtract"(%arg36, %arg37) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%29) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %27 = "stablehlo.reduce"(%arg30, %arg32) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg34: tensor<f32>, %arg35: tensor<f32>):
      %28 = "stablehlo.add"(%arg35, %arg34) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%28) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    "func.return"(%24, %25#1) : (tensor<4xf32>, tensor<4xi32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>, tensor<i32>, tensor<i1>) -> tensor<4xf32>, sym_name = "loops"}> ({
  ^bb0(%arg19: tensor<4xf32>, %arg20: tensor<i32>, %arg21: tensor<i1>):
    %12 = "stablehlo.constant"() <{value = dense<1> : tensor<i32>}> : () -> tensor<i32>
    %13:2 = "stablehlo.while"(%arg20, %arg19) ({
    ^bb0(%arg28: tensor<i32>, %arg29: tensor<4xf32>):
      %23 = "stablehlo.compare"(%arg28, %12) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
      "stablehlo.return"(%23) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg22: tensor<i32>, %arg23: tensor<4xf32>):
      %17 = "stablehlo.constant"() <{value = dense<2> : tensor<i32>}> : () -> tensor<i32>
      %18 = "stablehlo.add"(%arg22, %17) : (tensor<i32>, tensor<i32>) -> tensor<i32>
      %19:2 = "stablehlo.while"(%18, %arg23) ({
      ^bb0(%arg26: tensor<i32>, %arg27: tensor<4xf32>):
        %22 = "stablehlo.compare"(%arg26, %12) <{compare_type = #stablehlo<comparison_type SIGNED>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<i32>, tensor<i32>) -> tensor<i1>
        "stablehlo.return"(%22) : (tensor<i1>) -> ()
      }, {
      ^bb0(%arg24: tensor<i32>, %arg25: tensor<4xf32>):
        %20 = "stablehlo.constant"() <{value = dense<5.000000e-01> : tensor<4xf32>}> : () -> tensor<4xf32>
        %21 = "func.call"(%arg25, %arg24, %arg21) <{callee = @loops}> : (tensor<4xf32>, tensor<i32>, tensor<i1>) -> tensor<4xf32>
        "stablehlo.return"(%arg24, %21) : (tensor<i32>, tensor<4xf32>) -> ()
      }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
      "stablehlo.return"(%19#0, %19#1) : (tensor<i32>, tensor<4xf32>) -> ()
    }) {mhlo.frontend_attributes = {trip = "3"}} : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)
    %14 = "stablehlo.if"(%arg21) ({
      %16 = "stablehlo.negate"(%13#1) : (tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%16) : (tensor<4xf32>) -> ()
    }, {
      "stablehlo.return"(%13#1) : (tensor<4xf32>) -> ()
    }) : (tensor<i1>) -> tensor<4xf32>
    %15:2 = "stablehlo.case"(%arg20) ({
      "stablehlo.return"(%14, %arg20) : (tensor<4xf32>, tensor<i32>) -> ()
    }, {
      "stablehlo.return"(%arg19, %arg20) : (tensor<4xf32>, tensor<i32>) -> ()
    }) {a = 1 : i64} : (tensor<i32>) -> (tensor<4xf32>, tensor<i32>)
    "func.return"(%15#0) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<2x4xf32>, tensor<f32>, tensor<3x1xi32>, tensor<3x8xf32>, tensor<2x8x8x3xf32>, tensor<3x3x3x6xf32>) -> tensor<4x8xf32>, sym_name = "windows"}> ({
  ^bb0(%arg0: tensor<4x8xf32>, %arg1: tensor<2x4xf32>, %arg2: tensor<f32>, %arg3: tensor<3x1xi32>, %arg4: tensor<3x8xf32>, %arg5: tensor<2x8x8x3xf32>, %arg6: tensor<3x3x3x6xf32>):
    %0 = "stablehlo.reduce_window"(%arg0, %arg2) <{padding = dense<[[0, 0], [1, 1]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 3>, window_strides = array<i64: 1, 1>}> ({
    ^bb0(%arg17: tensor<f32>, %arg18: tensor<f32>):
      %11 = "stablehlo.add"(%arg17, %arg18) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%11) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %1 = "stablehlo.select_and_scatter"(%arg0, %arg1, %arg2) <{padding = dense<0> : tensor<2x2xi64>, window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 2>}> ({
    ^bb0(%arg15: tensor<f32>, %arg16: tensor<f32>):
      %10 = "stablehlo.compare"(%arg15, %arg16) <{compare_type = #stablehlo<comparison_type FLOAT>, comparison_direction = #stablehlo<comparison_direction GE>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%10) : (tensor<i1>) -> ()
    }, {
    ^bb0(%arg13: tensor<f32>, %arg14: tensor<f32>):
      %9 = "stablehlo.add"(%arg13, %arg14) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%9) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<2x4xf32>, tensor<f32>) -> tensor<4x8xf32>
    %2:2 = "stablehlo.sort"(%arg0, %arg0) <{dimension = 1 : i64, is_stable = true}> ({
    ^bb0(%arg9: tensor<f32>, %arg10: tensor<f32>, %arg11: tensor<f32>, %arg12: tensor<f32>):
      %8 = "stablehlo.compare"(%arg9, %arg10) <{compare_type = #stablehlo<comparison_type TOTALORDER>, comparison_direction = #stablehlo<comparison_direction LT>}> : (tensor<f32>, tensor<f32>) -> tensor<i1>
      "stablehlo.return"(%8) : (tensor<i1>) -> ()
    }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
    %3 = "stablehlo.gather"(%arg0, %arg3) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<4x8xf32>, tensor<3x1xi32>) -> tensor<3x8xf32>
    %4 = "stablehlo.scatter"(%arg0, %arg3, %arg4) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = true}> ({
    ^bb0(%arg7: tensor<f32>, %arg8: tensor<f32>):
      %7 = "stablehlo.add"(%arg7, %arg8) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%7) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<3x1xi32>, tensor<3x8xf32>) -> tensor<4x8xf32>
    %5 = "stablehlo.convolution"(%arg5, %arg6) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64, lhs_dilation = array<i64: 1, 1>, padding = dense<[[1, 1], [0, 1]]> : tensor<2x2xi64>, precision_config = [#stablehlo<precision DEFAULT>, #stablehlo<precision HIGH>], rhs_dilation = array<i64: 1, 2>, window_reversal = array<i1: false, true>, window_strides = array<i64: 2, 2>}> : (tensor<2x8x8x3xf32>, tensor<3x3x3x6xf32>) -> tensor<2x4x3x6xf32>
    %6 = "stablehlo.convolution"(%arg5, %arg6) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, feature_group_count = 1 : i64}> : (tensor<2x8x8x3xf32>, tensor<3x3x3x6xf32>) -> tensor<2x6x6x6xf32>
    "func.return"(%4) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
