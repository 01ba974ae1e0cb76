// Elements of constants in MLIR's storage format: packed booleans, splats, narrow integers, all float types.
func.func @f() {
  %0 = stablehlo.constant dense<true> : tensor<i1>
  %1 = stablehlo.constant dense<false> : tensor<3xi1>
  %2 = stablehlo.constant dense<[true, false, true]> : tensor<3xi1>
  %3 = stablehlo.constant dense<[true, false, true, true, false, false, false, true]> : tensor<8xi1>
  %4 = stablehlo.constant dense<[[true, false, true], [true, false, false], [false, true, true]]> : tensor<3x3xi1>
  %5 = stablehlo.constant dense<true> : tensor<9xi1>
  %6 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
  %7 = stablehlo.constant dense<[-8, 7, -1]> : tensor<3xi4>
  %8 = stablehlo.constant dense<[0, 15, 8]> : tensor<3xui4>
  %9 = stablehlo.constant dense<[-2, 1]> : tensor<2xi2>
  %10 = stablehlo.constant dense<[0, 3]> : tensor<2xui2>
  %11 = stablehlo.constant dense<-1> : tensor<4xi8>
  %12 = stablehlo.constant dense<[-32768, 32767]> : tensor<2xi16>
  %13 = stablehlo.constant dense<[4294967295, 0]> : tensor<2xui32>
  %14 = stablehlo.constant dense<[-9223372036854775808, 9223372036854775807]> : tensor<2xi64>
  %15 = stablehlo.constant dense<[18446744073709551615, 1]> : tensor<2xui64>
  %16 = stablehlo.constant dense<[1.0, -0.0, 0x7F800000, 0x7FC00001]> : tensor<4xf32>
  %17 = stablehlo.constant dense<[1.5, 0.1]> : tensor<2xf64>
  %18 = stablehlo.constant dense<[1.5, 0x7C00]> : tensor<2xf16>
  %19 = stablehlo.constant dense<3.14> : tensor<2x2xbf16>
  %20 = stablehlo.constant dense<[1.0, 448.0]> : tensor<2xf8E4M3FN>
  %21 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf8E5M2>
  %22 = stablehlo.constant dense<[0.5, 6.0]> : tensor<2xf4E2M1FN>
  %23 = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf8E8M0FNU>
  %24 = stablehlo.constant dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f32>>
  %25 = stablehlo.constant dense<(0.0, 1.0)> : tensor<3xcomplex<f64>>
  %26 = stablehlo.constant dense<> : tensor<0xf32>
  %27 = stablehlo.constant dense<"0x0001020304050607000102030405060700010203040506070001020304050607000102030405060700010203040506070001020304050607000102030405060700010203040506070001020304050607000102030405060700010203040506070001020304050607"> : tensor<104xi8>
  %28 = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
  return
}
