// Masks and tables made of counts and constants: every device computes its part, and what a consumer wants otherwise is
// computed once more. Even and uneven blocks, and in a loop.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %s: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %t: tensor<13x13xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<13x13xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<26xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
        tensor<13x13xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
  %i = stablehlo.iota dim = 0 : tensor<64xi32>
  %r1 = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<64xi32>) -> tensor<64x1xi32>
  %c1 = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<64xi32>) -> tensor<1x64xi32>
  %r = stablehlo.broadcast_in_dim %r1, dims = [0, 1] : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %c = stablehlo.broadcast_in_dim %c1, dims = [0, 1] : (tensor<1x64xi32>) -> tensor<64x64xi32>
  %m = stablehlo.compare GE, %r, %c : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
  %z = stablehlo.constant dense<0.0> : tensor<64x64xf32>
  %o = stablehlo.select %m, %s, %z : tensor<64x64xi1>, tensor<64x64xf32>
  %j = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<13xi32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %k = stablehlo.constant dense<0> : tensor<i32>
  %n = stablehlo.constant dense<3> : tensor<i32>
  %odd = stablehlo.constant dense<[5, 3, 1, 0, 2, 4, 6, 7, 8, 9, 10, 12, 11]> : tensor<13xi32>
  %twos = stablehlo.broadcast_in_dim %two, dims = [] : (tensor<i32>) -> tensor<13xi32>
  %js = stablehlo.multiply %j, %twos {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<13xi32>
  %both = stablehlo.concatenate %js, %odd, dim = 0 : (tensor<13xi32>, tensor<13xi32>) -> tensor<26xi32>
  %jr = stablehlo.broadcast_in_dim %js, dims = [0] : (tensor<13xi32>) -> tensor<13x13xi32>
  %jc = stablehlo.broadcast_in_dim %js, dims = [1] : (tensor<13xi32>) -> tensor<13x13xi32>
  %sum = stablehlo.add %jr, %jc {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : tensor<13x13xi32>
  %table = stablehlo.convert %sum : (tensor<13x13xi32>) -> tensor<13x13xf32>
  %sines = stablehlo.sine %table {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {"y"}]>]>} : tensor<13x13xf32>
  %turned = stablehlo.transpose %sines, dims = [1, 0] : (tensor<13x13xf32>) -> tensor<13x13xf32>
  %end:2 = stablehlo.while(%a = %k, %b = %t) : tensor<i32>, tensor<13x13xf32>
    cond {
      %p = stablehlo.compare LT, %a, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %at = stablehlo.broadcast_in_dim %a, dims = [] : (tensor<i32>) -> tensor<13xi32>
      %before = stablehlo.compare LE, %js, %at : (tensor<13xi32>, tensor<13xi32>) -> tensor<13xi1>
      %cols = stablehlo.broadcast_in_dim %before, dims = [1] : (tensor<13xi1>) -> tensor<13x13xi1>
      %chosen = stablehlo.select %cols, %b, %sines : tensor<13x13xi1>, tensor<13x13xf32>
      %sum1 = stablehlo.add %chosen, %turned : tensor<13x13xf32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %a1 = stablehlo.add %a, %one : tensor<i32>
      stablehlo.return %a1, %sum1 : tensor<i32>, tensor<13x13xf32>
    }
  return %o, %end#1, %both, %sines : tensor<64x64xf32>, tensor<13x13xf32>, tensor<26xi32>, tensor<13x13xf32>
}
