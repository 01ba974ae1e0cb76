// Slices of few rows and columns where both dimensions are split, one of them by two axes.
sdy.mesh @mesh = <["a"=2, "b"=2, "c"=2]>
func.func @main(
    %x: tensor<13x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}, {"c"}]>},
    %i: tensor<i32>)
    -> (tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
        tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"c"}]>},
        tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>},
        tensor<13xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", "b"}]>},
        tensor<f32> {sdy.sharding = #sdy.sharding<@mesh, []>},
        tensor<2x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"c"}]>},
        tensor<3x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = stablehlo.slice %x [12:13, 0:12] : (tensor<13x12xf32>) -> tensor<1x12xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x12xf32>) -> tensor<12xf32>
  %2 = stablehlo.slice %x [3:4, 0:12] : (tensor<13x12xf32>) -> tensor<1x12xf32>
  %3 = stablehlo.reshape %2 : (tensor<1x12xf32>) -> tensor<12xf32>
  %4 = stablehlo.slice %x [0:1, 0:12] : (tensor<13x12xf32>) -> tensor<1x12xf32>
  %5 = stablehlo.reshape %4 : (tensor<1x12xf32>) -> tensor<12xf32>
  %6 = stablehlo.slice %x [0:13, 7:8] : (tensor<13x12xf32>) -> tensor<13x1xf32>
  %7 = stablehlo.reshape %6 : (tensor<13x1xf32>) -> tensor<13xf32>
  %8 = stablehlo.slice %x [5:6, 11:12] : (tensor<13x12xf32>) -> tensor<1x1xf32>
  %9 = stablehlo.reshape %8 : (tensor<1x1xf32>) -> tensor<f32>
  %10 = stablehlo.slice %x [6:8, 3:10] : (tensor<13x12xf32>) -> tensor<2x7xf32>
  %11 = stablehlo.slice %x [1:13:5, 2:12:8] : (tensor<13x12xf32>) -> tensor<3x2xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %12 = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 12] : (tensor<13x12xf32>, tensor<i32>, tensor<i32>) -> tensor<1x12xf32>
  %13 = stablehlo.reshape %12 : (tensor<1x12xf32>) -> tensor<12xf32>
  return %1, %3, %5, %7, %9, %10, %11, %13 : tensor<12xf32>, tensor<12xf32>, tensor<12xf32>, tensor<13xf32>, tensor<f32>, tensor<2x7xf32>, tensor<3x2xf32>, tensor<12xf32>
}
