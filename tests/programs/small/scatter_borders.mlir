// The gradient of a pool: windows apart, over one another, and with elements between that none covers.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(
    %a: tensor<2x16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>},
    %s: tensor<2x8x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>},
    %b: tensor<21xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>},
    %t: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>},
    %u: tensor<18xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>})
    -> (tensor<2x16x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {"x"}]>},
        tensor<21xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>},
        tensor<21xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) {
  %half = stablehlo.constant dense<0.5> : tensor<f32>
  %0 = "stablehlo.select_and_scatter"(%a, %s, %half) <{window_dimensions = array<i64: 1, 2, 3>, window_strides = array<i64: 1, 2, 2>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %p = stablehlo.compare GE, %l, %r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %p = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<2x16x12xf32>, tensor<2x8x5xf32>, tensor<f32>) -> tensor<2x16x12xf32>
  %1 = "stablehlo.select_and_scatter"(%b, %t, %half) <{window_dimensions = array<i64: 2>, window_strides = array<i64: 3>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %p = stablehlo.compare LE, %l, %r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %p = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<21xf32>, tensor<7xf32>, tensor<f32>) -> tensor<21xf32>
  %2 = "stablehlo.select_and_scatter"(%b, %u, %half) <{window_dimensions = array<i64: 4>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %p = stablehlo.compare GE, %l, %r, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %p = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %p : tensor<f32>
  }) : (tensor<21xf32>, tensor<18xf32>, tensor<f32>) -> tensor<21xf32>
  return %0, %1, %2 : tensor<2x16x12xf32>, tensor<21xf32>, tensor<21xf32>
}
