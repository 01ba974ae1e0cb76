// Shapes, sizes and paddings that are operands but say nothing new.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<6x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %shape: tensor<3xi32>, %i: tensor<7x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %at: tensor<2xi32>, %img: tensor<4x9x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %k: tensor<3x2x4xf32>) -> (tensor<2x6x5xf32>, tensor<30xf32>, tensor<3x8xi32>, tensor<9x6xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<7x5xf32>, tensor<4x9x4xf32>, tensor<i32>) {
  %v = stablehlo.constant dense<1.5> : tensor<f32>
  // A result of known shape can have no other.
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %shape, dims = [1, 2] : (tensor<6x5xf32>, tensor<3xi32>) -> tensor<2x6x5xf32>
  %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<6x5xf32>) -> tensor<i32>
  %m = stablehlo.constant dense<5> : tensor<i32>
  %nm = stablehlo.multiply %n, %m : tensor<i32>
  %s1 = stablehlo.reshape %nm : (tensor<i32>) -> tensor<1xi32>
  %1 = stablehlo.dynamic_reshape %a, %s1 : (tensor<6x5xf32>, tensor<1xi32>) -> tensor<30xf32>
  %s2 = stablehlo.constant dense<[3, 8]> : tensor<2xi64>
  %2 = stablehlo.dynamic_iota %s2, dim = 1 : (tensor<2xi64>) -> tensor<3x8xi32>
  %low = stablehlo.constant dense<[1, -1]> : tensor<2xi64>
  %high = stablehlo.constant dense<[2, 2]> : tensor<2xi64>
  %none = stablehlo.constant dense<0> : tensor<2xi64>
  %3 = stablehlo.dynamic_pad %a, %v, %low, %high, %none : (tensor<6x5xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<9x6xf32>
  %start = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
  %limit = stablehlo.constant dense<[6, 4]> : tensor<2xi32>
  %step = stablehlo.constant dense<2> : tensor<2xi32>
  %4 = stablehlo.real_dynamic_slice %a, %start, %limit, %step : (tensor<6x5xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<3x2xf32>
  %zero = stablehlo.constant dense<[1, 1]> : tensor<2xi32>
  %from = stablehlo.minimum %at, %zero : tensor<2xi32>
  %from0 = stablehlo.maximum %from, %zero : tensor<2xi32>
  %sizes = stablehlo.constant dense<[2, 3]> : tensor<2xi32>
  %to = stablehlo.add %from0, %sizes : tensor<2xi32>
  %ones = stablehlo.constant dense<1> : tensor<2xi32>
  %5 = stablehlo.real_dynamic_slice %a, %from0, %to, %ones : (tensor<6x5xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<2x3xf32>
  %slice = stablehlo.constant dense<[1, 5]> : tensor<2xi32>
  %6 = "stablehlo.dynamic_gather"(%a, %i, %slice) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false}> : (tensor<6x5xf32>, tensor<7x1xi32>, tensor<2xi32>) -> tensor<7x5xf32>
  %pad = stablehlo.constant dense<1> : tensor<1x2xi32>
  %7 = "stablehlo.dynamic_conv"(%img, %k, %pad) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64}> : (tensor<4x9x2xf32>, tensor<3x2x4xf32>, tensor<1x2xi32>) -> tensor<4x9x4xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7, %n : tensor<2x6x5xf32>, tensor<30xf32>, tensor<3x8xi32>, tensor<9x6xf32>, tensor<3x2xf32>, tensor<2x3xf32>, tensor<7x5xf32>, tensor<4x9x4xf32>, tensor<i32>
}
