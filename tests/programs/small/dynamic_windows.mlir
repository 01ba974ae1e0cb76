// Windows at places known at run time, of tensors that are split there: within a block, over several, uneven ones.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %cache: tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %long: tensor<13x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>},
    %flags: tensor<10xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
    %new: tensor<1x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
    %many: tensor<7x2xi32>, %at: tensor<i32>, %by: tensor<i64>, %small: tensor<ui8>)
    -> (tensor<16x6xf32>, tensor<13x6xi32>, tensor<3x6xf32>, tensor<9x2xi32>, tensor<4xi1>, tensor<16x6xf32>) {
  %c5 = stablehlo.constant dense<5> : tensor<i32>
  %place = stablehlo.multiply %at, %c5 : tensor<i32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %cache, %new, %place, %c0 : (tensor<16x6xf32>, tensor<1x6xf32>, tensor<i32>, tensor<i32>) -> tensor<16x6xf32>
  %1 = stablehlo.dynamic_update_slice %long, %many, %by, %by : (tensor<13x6xi32>, tensor<7x2xi32>, tensor<i64>, tensor<i64>) -> tensor<13x6xi32>
  %2 = stablehlo.dynamic_slice %cache, %place, %c0, sizes = [3, 6] : (tensor<16x6xf32>, tensor<i32>, tensor<i32>) -> tensor<3x6xf32>
  %3 = stablehlo.dynamic_slice %long, %small, %small, sizes = [9, 2] : (tensor<13x6xi32>, tensor<ui8>, tensor<ui8>) -> tensor<9x2xi32>
  %4 = stablehlo.dynamic_slice %flags, %place, sizes = [4] : (tensor<10xi1>, tensor<i32>) -> tensor<4xi1>
  %5 = stablehlo.dynamic_update_slice %cache, %2, %c0, %place : (tensor<16x6xf32>, tensor<3x6xf32>, tensor<i32>, tensor<i32>) -> tensor<16x6xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<16x6xf32>, tensor<13x6xi32>, tensor<3x6xf32>, tensor<9x2xi32>, tensor<4xi1>, tensor<16x6xf32>
}
