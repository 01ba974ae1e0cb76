// Reductions that no collective does, along split dimensions: each device reduces its part, and the few results are
// gathered. And sums and products whose initial value counts, once.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %logits: tensor<6x26xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>},
    %even: tensor<16x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %odd: tensor<13x6xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>},
    %flags: tensor<10x4xi1> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %init: tensor<i32>, %bonus: tensor<f32>)
    -> (tensor<6xf32>, tensor<6xi32>, tensor<8xi32>, tensor<6xi32>, tensor<i32>, tensor<4xi1>, tensor<6xf32>, tensor<6xi32>, tensor<6xf32>, tensor<6x3xf32>, tensor<6x3xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %ones = stablehlo.constant dense<-1> : tensor<i32>
  %no = stablehlo.constant dense<false> : tensor<i1>
  %index = stablehlo.iota dim = 1 : tensor<6x26xi32>
  %0:2 = stablehlo.reduce(%logits init: %low), (%index init: %zero) across dimensions = [1] : (tensor<6x26xf32>, tensor<6x26xi32>, tensor<f32>, tensor<i32>) -> (tensor<6xf32>, tensor<6xi32>)
   reducer(%a: tensor<f32>, %b: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %gt = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %eq = stablehlo.compare EQ, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %lt = stablehlo.compare LT, %i, %j : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %tie = stablehlo.and %eq, %lt : tensor<i1>
    %first = stablehlo.or %gt, %tie : tensor<i1>
    %v = stablehlo.select %first, %a, %b : tensor<i1>, tensor<f32>
    %w = stablehlo.select %first, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<f32>, tensor<i32>
  }
  %1 = stablehlo.reduce(%even init: %init) applies stablehlo.xor across dimensions = [0] : (tensor<16x8xi32>, tensor<i32>) -> tensor<8xi32>
  %2 = stablehlo.reduce(%odd init: %ones) applies stablehlo.and across dimensions = [0] : (tensor<13x6xi32>, tensor<i32>) -> tensor<6xi32>
  %3 = stablehlo.reduce(%even init: %init) applies stablehlo.or across dimensions = [0, 1] : (tensor<16x8xi32>, tensor<i32>) -> tensor<i32>
  %4 = stablehlo.reduce(%flags init: %no) applies stablehlo.add across dimensions = [0] : (tensor<10x4xi1>, tensor<i1>) -> tensor<4xi1>
  %5 = stablehlo.reduce(%logits init: %bonus) applies stablehlo.add across dimensions = [1] : (tensor<6x26xf32>, tensor<f32>) -> tensor<6xf32>
  %6 = stablehlo.reduce(%odd init: %init) applies stablehlo.add across dimensions = [0] : (tensor<13x6xi32>, tensor<i32>) -> tensor<6xi32>
  %7 = stablehlo.reduce(%logits init: %bonus) applies stablehlo.multiply across dimensions = [1] : (tensor<6x26xf32>, tensor<f32>) -> tensor<6xf32>
  %8:2 = chlo.top_k(%logits, k = 3) : tensor<6x26xf32> -> (tensor<6x3xf32>, tensor<6x3xi32>)
  return %0#0, %0#1, %1, %2, %3, %4, %5, %6, %7, %8#0, %8#1 : tensor<6xf32>, tensor<6xi32>, tensor<8xi32>, tensor<6xi32>, tensor<i32>, tensor<4xi1>, tensor<6xf32>, tensor<6xi32>, tensor<6xf32>, tensor<6x3xf32>, tensor<6x3xi32>
}
