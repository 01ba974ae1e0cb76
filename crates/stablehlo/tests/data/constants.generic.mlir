"builtin.module"() <{sym_name = "constants"}> ({
  "func.func"() <{function_type = () -> (), sym_name = "main"}> ({
    %0 = "stablehlo.constant"() <{value = dense<1.000000e+00> : tensor<f32>}> : () -> tensor<f32>
    %1 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 2.500000e+00, -0.000000e+00, 9.99999974E-6, 3.40282347E+38]> : tensor<5xf32>}> : () -> tensor<5xf32>
    %2 = "stablehlo.constant"() <{value = dense<[0x7F800000, 0xFF800000, 0x7FC00000, 0x4B800000]> : tensor<4xf32>}> : () -> tensor<4xf32>
    %3 = "stablehlo.constant"() <{value = dense<[[1, 2], [3, -4]]> : tensor<2x2xi8>}> : () -> tensor<2x2xi8>
    %4 = "stablehlo.constant"() <{value = dense<[true, false]> : tensor<2xi1>}> : () -> tensor<2xi1>
    %5 = "stablehlo.constant"() <{value = dense<true> : tensor<8xi1>}> : () -> tensor<8xi1>
    %6 = "stablehlo.constant"() <{value = dense<[255, 0]> : tensor<2xui8>}> : () -> tensor<2xui8>
    %7 = "stablehlo.constant"() <{value = dense<[(1.000000e+00,-2.000000e+00), (5.000000e-01,2.500000e-01)]> : tensor<2xcomplex<f32>>}> : () -> tensor<2xcomplex<f32>>
    %8 = "stablehlo.constant"() <{value = dense<(1.000000e+00,2.000000e+00)> : tensor<complex<f64>>}> : () -> tensor<complex<f64>>
    %9 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 9.997550e-02, 6.550400e+04]> : tensor<3xf16>}> : () -> tensor<3xf16>
    %10 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 1.000980e-01, 3.004060e+38]> : tensor<3xbf16>}> : () -> tensor<3xbf16>
    %11 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 1.015630e-01, 4.480000e+02]> : tensor<3xf8E4M3FN>}> : () -> tensor<3xf8E4M3FN>
    %12 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 9.375000e-02]> : tensor<2xf8E5M2>}> : () -> tensor<2xf8E5M2>
    %13 = "stablehlo.constant"() <{value = dense<[1.000000e-01, 3.14159265358979, 1.000000e+300]> : tensor<3xf64>}> : () -> tensor<3xf64>
    %14 = "stablehlo.constant"() <{value = dense<> : tensor<0xi32>}> : () -> tensor<0xi32>
    %15 = "stablehlo.constant"() <{value = dense<> : tensor<2x0xf32>}> : () -> tensor<2x0xf32>
    %16 = "stablehlo.constant"() <{value = dense<1> : tensor<3xi32>}> : () -> tensor<3xi32>
    %17 = "stablehlo.constant"() <{value = dense<[-8, 7]> : tensor<2xi4>}> : () -> tensor<2xi4>
    %18 = "stablehlo.constant"() <{value = dense<[15, 7]> : tensor<2xui4>}> : () -> tensor<2xui4>
    %19 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 2.000000e+00, 3.000000e+00]> : tensor<3xf32>}> : () -> tensor<3xf32>
    %20 = "stablehlo.constant"() <{value = dense<18446744073709551615> : tensor<ui64>}> : () -> tensor<ui64>
    %21 = "stablehlo.constant"() <{value = dense<-9223372036854775808> : tensor<i64>}> : () -> tensor<i64>
    %22 = "stablehlo.constant"() <{value = dense_resource<big> : tensor<2xf32>}> : () -> tensor<2xf32>
    %23 = "stablehlo.constant"() <{value = dense<[[5.000000e-01], [2.500000e-01]]> : tensor<2x1xf32>}> {a.b = "c\22\\\0A"} : () -> tensor<2x1xf32>
    %24 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf8E4M3FNUZ>}> : () -> tensor<2xf8E4M3FNUZ>
    %25 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf4E2M1FN>}> : () -> tensor<2xf4E2M1FN>
    %26 = "stablehlo.constant"() <{value = dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf8E8M0FNU>}> : () -> tensor<2xf8E8M0FNU>
    "func.return"() : () -> ()
  }) : () -> ()
}) : () -> ()

{-#
  dialect_resources: {
    builtin: {
      big: "0x040000000000803F00000040"
    }
  }
#-}
