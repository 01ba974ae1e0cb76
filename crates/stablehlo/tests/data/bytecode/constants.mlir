module {
  func.func @f() {
    %c = stablehlo.constant dense<true> : tensor<i1>
    %c_0 = stablehlo.constant dense<false> : tensor<3xi1>
    %c_1 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
    %c_2 = stablehlo.constant dense<[true, false, true, true, false, false, false, true]> : tensor<8xi1>
    %c_3 = stablehlo.constant dense<[[true, false, true], [true, false, false], [false, true, true]]> : tensor<3x3xi1>
    %c_4 = stablehlo.constant dense<true> : tensor<9xi1>
    %c_5 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %c_6 = stablehlo.constant dense<[-8, 7, -1]> : tensor<3xi4>
    %c_7 = stablehlo.constant dense<[0, 15, 8]> : tensor<3xui4>
    %c_8 = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
    %c_9 = stablehlo.constant dense<[0, 3]> : tensor<2xui2>
    %c_10 = stablehlo.constant dense<-1> : tensor<4xi8>
    %c_11 = stablehlo.constant dense<[-32768, 32767]> : tensor<2xi16>
    %c_12 = stablehlo.constant dense<[4294967295, 0]> : tensor<2xui32>
    %c_13 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
    %c_14 = stablehlo.constant dense<[18446744073709551615, 1]> : tensor<2xui64>
    %cst = stablehlo.constant dense<[1.000000e+00, -0.000000e+00, 0x7F800000, 0x7FC00001]> : tensor<4xf32>
    %cst_15 = stablehlo.constant dense<[1.500000e+00, 1.000000e-01]> : tensor<2xf64>
    %cst_16 = stablehlo.constant dense<[1.500000e+00, 0x7C00]> : tensor<2xf16>
    %cst_17 = stablehlo.constant dense<3.140630e+00> : tensor<2x2xbf16>
    %cst_18 = stablehlo.constant dense<[1.000000e+00, 4.480000e+02]> : tensor<2xf8E4M3FN>
    %cst_19 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf8E5M2>
    %cst_20 = stablehlo.constant dense<[5.000000e-01, 6.000000e+00]> : tensor<2xf4E2M1FN>
    %cst_21 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf8E8M0FNU>
    %cst_22 = stablehlo.constant dense<[(1.000000e+00,2.000000e+00), (3.000000e+00,-4.000000e+00)]> : tensor<2xcomplex<f32>>
    %cst_23 = stablehlo.constant dense<(0.000000e+00,1.000000e+00)> : tensor<3xcomplex<f64>>
    %cst_24 = stablehlo.constant dense<> : tensor<0xf32>
    %c_25 = stablehlo.constant dense<"0x0001020304050607000102030405060700010203040506070001020304050607000102030405060700010203040506070001020304050607000102030405060700010203040506070001020304050607000102030405060700010203040506070001020304050607"> : tensor<104xi8>
    %c_26 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    return
  }
}
