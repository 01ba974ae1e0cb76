// Windows along split dimensions: a pool of padded and strided windows, one over a dilated operand, one over two
// dimensions at once, and the largest element with its place.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(
    %a: tensor<2x12x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>},
    %b: tensor<21xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>})
    -> (tensor<2x12x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>},
        tensor<21xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>},
        tensor<10xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %least = stablehlo.constant dense<-2147483648> : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %zero) <{padding = dense<[[0, 0], [1, 1], [2, 0]]> : tensor<3x2xi64>, window_dimensions = array<i64: 1, 3, 3>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<2x12x10xf32>, tensor<f32>) -> tensor<2x12x10xf32>
  %1 = "stablehlo.reduce_window"(%b, %least) <{padding = dense<[[1, 2]]> : tensor<1x2xi64>, window_dimensions = array<i64: 2>, window_strides = array<i64: 2>, base_dilations = array<i64: 2>, window_dilations = array<i64: 2>}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.maximum %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<21xi32>, tensor<i32>) -> tensor<21xi32>
  %places = stablehlo.iota dim = 0 : tensor<21xi32>
  %2:2 = "stablehlo.reduce_window"(%b, %places, %least, %none) <{window_dimensions = array<i64: 3>, window_strides = array<i64: 2>}> ({
  ^bb0(%l: tensor<i32>, %i: tensor<i32>, %r: tensor<i32>, %j: tensor<i32>):
    %p = stablehlo.compare GE, %l, %r, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %s = stablehlo.select %p, %l, %r : tensor<i1>, tensor<i32>
    %t = stablehlo.select %p, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %s, %t : tensor<i32>, tensor<i32>
  }) : (tensor<21xi32>, tensor<21xi32>, tensor<i32>, tensor<i32>) -> (tensor<10xi32>, tensor<10xi32>)
  return %0, %1, %2#1 : tensor<2x12x10xf32>, tensor<21xi32>, tensor<10xi32>
}
