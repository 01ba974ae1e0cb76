// Running sums, extremes and products along split dimensions: forward and backward, in blocks that are full, that are not and
// that are empty, along two axes at once, wanted in another split, and with an initial value that is not the least.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(
    %a: tensor<6x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<26x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>},
    %c: tensor<40xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>},
    %d: tensor<5x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>},
    %e: tensor<24xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>})
    -> (tensor<6x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<26x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>},
        tensor<40xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>},
        tensor<5x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>},
        tensor<24xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %zero) <{padding = dense<[[0, 0], [63, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, 64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<6x64xf32>, tensor<f32>) -> tensor<6x64xf32>
  %least = stablehlo.constant dense<-2147483648> : tensor<i32>
  %1 = "stablehlo.reduce_window"(%b, %least) <{padding = dense<[[0, 25], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 26, 1>}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.maximum %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<26x3xi32>, tensor<i32>) -> tensor<26x3xi32>
  %one = stablehlo.constant dense<1.0> : tensor<f32>
  %2 = "stablehlo.reduce_window"(%c, %one) <{padding = dense<[[0, 39]]> : tensor<1x2xi64>, window_dimensions = array<i64: 40>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.multiply %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<40xf32>, tensor<f32>) -> tensor<40xf32>
  %3 = "stablehlo.reduce_window"(%d, %zero) <{padding = dense<[[4, 0], [0, 0]]> : tensor<2x2xi64>, window_dimensions = array<i64: 5, 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<5x8xf32>, tensor<f32>) -> tensor<5x8xf32>
  %seven = stablehlo.constant dense<7> : tensor<i32>
  %4 = "stablehlo.reduce_window"(%e, %seven) <{padding = dense<[[23, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 24>}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.maximum %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<24xi32>, tensor<i32>) -> tensor<24xi32>
  return %0, %1, %2, %3, %4 : tensor<6x64xf32>, tensor<26x3xi32>, tensor<40xf32>, tensor<5x8xf32>, tensor<24xi32>
}
