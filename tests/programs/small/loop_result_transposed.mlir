// A loop within a loop reads an argument of the outer loop, and its result is transposed twice. XLA removes the transposes
// and must not move their mark to the inner loop.
sdy.mesh @mesh = <["data"=4]>
func.func @main(%w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %x: tensor<8x1xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x1xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%weight = %w, %state = %x, %i = %zero) : tensor<8x8xf32>, tensor<8x1xf32>, tensor<i32>
  cond {
    %n = stablehlo.constant dense<2> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.sine %state : tensor<8x1xf32>
    %start = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %2:2 = stablehlo.while(%y = %1, %j = %start) : tensor<8x1xf32>, tensor<i32>
    cond {
      %n = stablehlo.constant dense<3> : tensor<i32>
      %7 = stablehlo.compare LT, %j, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %7 : tensor<i1>
    } do {
      %7 = stablehlo.dot_general %weight, %y, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x1xf32>) -> tensor<8x1xf32>
      %8 = stablehlo.tanh %7 : tensor<8x1xf32>
      %9 = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %8, %9 : tensor<8x1xf32>, tensor<i32>
    }
    %3 = stablehlo.transpose %2#0, dims = [1, 0] : (tensor<8x1xf32>) -> tensor<1x8xf32>
    %4 = stablehlo.transpose %3, dims = [1, 0] : (tensor<1x8xf32>) -> tensor<8x1xf32>
    %5 = stablehlo.add %4, %1 : tensor<8x1xf32>
    %6 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %weight, %5, %6 : tensor<8x8xf32>, tensor<8x1xf32>, tensor<i32>
  }
  return %0#1 : tensor<8x1xf32>
}
