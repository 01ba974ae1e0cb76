"builtin.module"() ({
  "func.func"() <{function_type = (tensor<4x?x!quant.uniform<i8:f32, 1.000000e-01:-30>, #stablehlo.bounds<?, 8>>, tensor<2x3x!quant.uniform<u8<1:255>:f32:1, {1.000000e-01:-30,2.000000e-01,0.0039215482917486456:7}>>, tensor<4x4x!quant.uniform<i8:f32:{0:2, 1:4}, {{2.000000e+00:120, 3.000000e+00:127}, {4.000000e+00, 5.000000e+00}}>>, tensor<!quant.any<i8<-16:7>:f32>>, tensor<2x!quant.any<u4>>, tensor<2x!quant.calibrated<f32<1.000000e+00:1.500000e+00>>>, !quant.uniform<i32:f64, 2.000000e+00>) -> (), sym_name = "types"}> ({
  ^bb0(%arg11: tensor<4x?x!quant.uniform<i8:f32, 1.000000e-01:-30>, #stablehlo.bounds<?, 8>>, %arg12: tensor<2x3x!quant.uniform<u8<1:255>:f32:1, {1.000000e-01:-30,2.000000e-01,0.0039215482917486456:7}>>, %arg13: tensor<4x4x!quant.uniform<i8:f32:{0:2, 1:4}, {{2.000000e+00:120, 3.000000e+00:127}, {4.000000e+00, 5.000000e+00}}>>, %arg14: tensor<!quant.any<i8<-16:7>:f32>>, %arg15: tensor<2x!quant.any<u4>>, %arg16: tensor<2x!quant.calibrated<f32<1.000000e+00:1.500000e+00>>>, %arg17: !quant.uniform<i32:f64, 2.000000e+00>):
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<2xf32>) -> tensor<2xf32>, sym_name = "quantize"}> ({
  ^bb0(%arg10: tensor<2xf32>):
    %0 = "stablehlo.constant"() <{value = dense<[1, -2]> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>
    %1 = "stablehlo.constant"() <{value = dense<3> : tensor<2xui8>}> {a = 1 : i32} : () -> tensor<2x!quant.uniform<u8:f32, 2.000000e+00>>
    %2 = "stablehlo.constant"() <{value = dense<4> : tensor<2xi8>}> : () -> tensor<2x!quant.uniform<u8:f32, 2.000000e+00>>
    %3 = "stablehlo.uniform_quantize"(%arg10) : (tensor<2xf32>) -> tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>
    %4 = "stablehlo.add"(%3, %0) : (tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>, tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>) -> tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>
    %5 = "stablehlo.uniform_dequantize"(%4) : (tensor<2x!quant.uniform<i8:f32, 2.000000e+00:15>>) -> tensor<2xf32>
    "func.return"(%5) : (tensor<2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<*xf32>, tensor<?x!quant.uniform<i8:f32, 1.000000e+00>>, !stablehlo.future<tensor<4xf32>, tensor<2xi1>>, tuple<tensor<f32>, !stablehlo.token>, tensor<2xf80>, tensor<2xi27, #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>>, vector<4xf32>, memref<?xf32>, none, index) -> (), sym_name = "others"}> ({
  ^bb0(%arg0: tensor<*xf32>, %arg1: tensor<?x!quant.uniform<i8:f32, 1.000000e+00>>, %arg2: !stablehlo.future<tensor<4xf32>, tensor<2xi1>>, %arg3: tuple<tensor<f32>, !stablehlo.token>, %arg4: tensor<2xf80>, %arg5: tensor<2xi27, #sparse_tensor.encoding<{ map = (d0) -> (d0 : compressed) }>>, %arg6: vector<4xf32>, %arg7: memref<?xf32>, %arg8: none, %arg9: index):
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()
