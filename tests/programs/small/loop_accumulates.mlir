// Gradients of micro-batches are added up in a loop, one from zero, one from what is given: their sums over devices can
// be completed after the loop.
sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<3x16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}]>}, %first: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8xf32>
  %r:3 = stablehlo.while(%i = %zero, %dw = %first, %db = %zeros) : tensor<i32>, tensor<8x8xf32>, tensor<8xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 8] : (tensor<3x16x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x8xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x16x8xf32>) -> tensor<16x8xf32>
    %4 = stablehlo.dot_general %3, %3, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %5 = stablehlo.sine %3 : tensor<16x8xf32>
    %6 = stablehlo.dot_general %5, %3, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %7 = stablehlo.add %dw, %4 : tensor<8x8xf32>
    %8 = stablehlo.add %6, %7 : tensor<8x8xf32>
    %9 = stablehlo.reduce(%3 init: %0) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
    %10 = stablehlo.add %db, %9 : tensor<8xf32>
    stablehlo.return %1, %8, %10 : tensor<i32>, tensor<8x8xf32>, tensor<8xf32>
  }
  return %r#1, %r#2 : tensor<8x8xf32>, tensor<8xf32>
}
