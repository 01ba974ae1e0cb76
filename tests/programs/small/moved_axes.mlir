// Operations that need the split dimension whole: a sort of keys and values, a running sum, a slice somewhere.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<40x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %b: tensor<10x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %at: tensor<i32>) -> (tensor<40x4096xf32>, tensor<40x4096xi32>, tensor<10x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<40x100xf32>) {
  %n = stablehlo.iota dim = 1 : tensor<40x4096xi32>
  %0:2 = "stablehlo.sort"(%a, %n) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %6 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %6 : tensor<i1>
  }) : (tensor<40x4096xf32>, tensor<40x4096xi32>) -> (tensor<40x4096xf32>, tensor<40x4096xi32>)
  %1 = "stablehlo.sort"(%0#0) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %6 = stablehlo.compare GT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %6 : tensor<i1>
  }) : (tensor<40x4096xf32>) -> tensor<40x4096xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = "stablehlo.reduce_window"(%b, %z) <{window_dimensions = array<i64: 1, 4096>, padding = dense<[[0, 0], [4095, 0]]> : tensor<2x2xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %6 = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %6 : tensor<f32>
  }) : (tensor<10x4096xf32>, tensor<f32>) -> tensor<10x4096xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %3 = stablehlo.dynamic_slice %a, %zero, %at, sizes = [40, 100] : (tensor<40x4096xf32>, tensor<i32>, tensor<i32>) -> tensor<40x100xf32>
  return %1, %0#1, %2, %3 : tensor<40x4096xf32>, tensor<40x4096xi32>, tensor<10x4096xf32>, tensor<40x100xf32>
}
