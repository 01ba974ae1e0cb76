// Rolls by part of a block, by blocks, and of blocks that are not even, along one dimension and two; ranges of two tensors
// side by side, one of them whole on each device; what wraps around; and a roll in a loop.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %a: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<13x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>},
    %c: tensor<5x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> (tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<13x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>},
        tensor<19x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<22x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<13x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>}) {
  %0 = stablehlo.slice %a [5:16, 0:6] : (tensor<16x6xf32>) -> tensor<11x6xf32>
  %1 = stablehlo.slice %a [0:5, 0:6] : (tensor<16x6xf32>) -> tensor<5x6xf32>
  %2 = stablehlo.concatenate %0, %1, dim = 0 : (tensor<11x6xf32>, tensor<5x6xf32>) -> tensor<16x6xf32>
  %3 = stablehlo.slice %2 [0:16, 4:6] : (tensor<16x6xf32>) -> tensor<16x2xf32>
  %4 = stablehlo.slice %2 [0:16, 0:4] : (tensor<16x6xf32>) -> tensor<16x4xf32>
  %5 = stablehlo.concatenate %3, %4, dim = 1 : (tensor<16x2xf32>, tensor<16x4xf32>) -> tensor<16x6xf32>
  %6 = stablehlo.slice %b [7:13, 0:6] : (tensor<13x6xf32>) -> tensor<6x6xf32>
  %7 = stablehlo.slice %b [0:7, 0:6] : (tensor<13x6xf32>) -> tensor<7x6xf32>
  %8 = stablehlo.concatenate %6, %7, dim = 0 : (tensor<6x6xf32>, tensor<7x6xf32>) -> tensor<13x6xf32>
  %9 = stablehlo.slice %a [2:16, 0:6] : (tensor<16x6xf32>) -> tensor<14x6xf32>
  %10 = stablehlo.concatenate %c, %9, dim = 0 : (tensor<5x6xf32>, tensor<14x6xf32>) -> tensor<19x6xf32>
  %11 = stablehlo.slice %a [13:16, 0:6] : (tensor<16x6xf32>) -> tensor<3x6xf32>
  %12 = stablehlo.slice %a [0:3, 0:6] : (tensor<16x6xf32>) -> tensor<3x6xf32>
  %13 = stablehlo.concatenate %11, %a, %12, dim = 0 : (tensor<3x6xf32>, tensor<16x6xf32>, tensor<3x6xf32>) -> tensor<22x6xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %14:2 = stablehlo.while(%i = %zero, %x = %b) : tensor<i32>, tensor<13x6xf32>
  cond {
    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %s = stablehlo.slice %x [4:13, 0:6] : (tensor<13x6xf32>) -> tensor<9x6xf32>
    %t = stablehlo.slice %x [0:4, 0:6] : (tensor<13x6xf32>) -> tensor<4x6xf32>
    %u = stablehlo.concatenate %s, %t, dim = 0 : (tensor<9x6xf32>, tensor<4x6xf32>) -> tensor<13x6xf32>
    %v = stablehlo.add %u, %x : tensor<13x6xf32>
    %j = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %j, %v : tensor<i32>, tensor<13x6xf32>
  }
  return %5, %8, %10, %13, %2, %14#1 : tensor<16x6xf32>, tensor<13x6xf32>, tensor<19x6xf32>, tensor<22x6xf32>, tensor<16x6xf32>, tensor<13x6xf32>
}
