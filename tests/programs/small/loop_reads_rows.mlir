// A loop reads one row after the other of two tensors whose rows are split, one evenly and one unevenly, and a row of what
// it changes itself.
sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %y: tensor<15x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %z: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<1x8xf32>, tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %start = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<0.0> : tensor<1x8xf32>
  %0:5 = stablehlo.while(%i = %start, %sum = %none, %xs = %x, %ys = %y, %state = %z) : tensor<i32>, tensor<1x8xf32>, tensor<16x8xf32>, tensor<15x8xf32>, tensor<16x8xf32>
  cond {
    %n = stablehlo.constant dense<15> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %1 = stablehlo.dynamic_slice %xs, %i, %zero, sizes = [1, 8] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %2 = stablehlo.dynamic_slice %ys, %i, %zero, sizes = [1, 8] : (tensor<15x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %3 = stablehlo.dynamic_slice %state, %i, %zero, sizes = [1, 8] : (tensor<16x8xf32>, tensor<i32>, tensor<i32>) -> tensor<1x8xf32>
    %4 = stablehlo.multiply %1, %2 : tensor<1x8xf32>
    %5 = stablehlo.add %4, %3 : tensor<1x8xf32>
    %6 = stablehlo.add %sum, %5 : tensor<1x8xf32>
    %7 = stablehlo.sine %state : tensor<16x8xf32>
    stablehlo.return %next, %6, %xs, %ys, %7 : tensor<i32>, tensor<1x8xf32>, tensor<16x8xf32>, tensor<15x8xf32>, tensor<16x8xf32>
  }
  return %0#1, %0#4 : tensor<1x8xf32>, tensor<16x8xf32>
}
