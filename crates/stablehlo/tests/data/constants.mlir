module @constants {
  func.func @main() {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %cst_0 = stablehlo.constant dense<[1.000000e+00, 2.500000e+00, -0.000000e+00, 9.99999974E-6, 3.40282347E+38]> : tensor<5xf32>
    %cst_1 = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x4B800000]> : tensor<4xf32>
    %c = stablehlo.constant dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>
    %c_2 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %c_3 = stablehlo.constant dense<true> : tensor<8xi1>
    %c_4 = stablehlo.constant dense<[255, 0]> : tensor<2xui8>
    %cst_5 = stablehlo.constant dense<[(1.000000e+00,-2.000000e+00), (5.000000e-01,2.500000e-01)]> : tensor<2xcomplex<f32>>
    %cst_6 = stablehlo.constant dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f64>>
    %cst_7 = stablehlo.constant dense<[1.000000e+00, 9.997550e-02, 6.550400e+04]> : tensor<3xf16>
    %cst_8 = stablehlo.constant dense<[1.000000e+00, 1.000980e-01, 3.004060e+38]> : tensor<3xbf16>
    %cst_9 = stablehlo.constant dense<[1.000000e+00, 1.015630e-01, 4.480000e+02]> : tensor<3xf8E4M3FN>
    %cst_10 = stablehlo.constant dense<[1.000000e+00, 9.375000e-02]> : tensor<2xf8E5M2>
    %cst_11 = stablehlo.constant dense<[1.000000e-01, 3.14159265358979, 1.000000e+300]> : tensor<3xf64>
    %c_12 = stablehlo.constant dense<> : tensor<0xi32>
    %cst_13 = stablehlo.constant dense<> : tensor<2x0xf32>
    %c_14 = stablehlo.constant dense<1> : tensor<3xi32>
    %c_15 = stablehlo.constant dense<[-8, 7]> : tensor<2xi4>
    %c_16 = stablehlo.constant dense<[15, 7]> : tensor<2xui4>
    %cst_17 = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>
    %c_18 = stablehlo.constant dense<18446744073709551615> : tensor<ui64>
    %c_19 = stablehlo.constant dense<-9223372036854775808> : tensor<i64>
    %cst_20 = stablehlo.constant dense_resource<big> : tensor<2xf32>
    %cst_21 = stablehlo.constant {a.b = "c\22\\\0A"} dense<[[5.000000e-01], [2.500000e-01]]> : tensor<2x1xf32>
    %cst_22 = stablehlo.constant dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf8E4M3FNUZ>
    %cst_23 = stablehlo.constant dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf4E2M1FN>
    %cst_24 = stablehlo.constant dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf8E8M0FNU>
    return
  }
}

{-#
  dialect_resources: {
    builtin: {
      big: "0x040000000000803F00000040"
    }
  }
#-}
