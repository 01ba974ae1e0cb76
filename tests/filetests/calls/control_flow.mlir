// Calls of one function in a loop and in branches, with two results and an uneven dimension. The loop condition is a
// sum that the function all-reduces, so every device runs the same number of iterations.
// RUN: shardc partition %s -o - --inline-budget 1 2>/dev/null | FileCheck %s

// CHECK: func.func public @main(%arg0: tensor<8xf32>)
// CHECK: stablehlo.while
// CHECK: call @step(%{{.*}}) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>)
// CHECK: stablehlo.if
// CHECK: call @step(%{{.*}}) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>)
// CHECK: func.func private @step(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<f32>)
// CHECK: all_reduce
// CHECK-NOT: func.func
sdy.mesh @mesh = <["data"=4]>
func.func public @main(%x: tensor<30xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> (tensor<30xf32>, tensor<f32>) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %limit = stablehlo.constant dense<1000.0> : tensor<f32>
  %0:2 = stablehlo.while(%v = %x, %sum = %c) : tensor<30xf32>, tensor<f32>
    cond {
      %1 = stablehlo.compare LT, %sum, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %1 : tensor<i1>
    } do {
      %1:2 = func.call @step(%v) : (tensor<30xf32>) -> (tensor<30xf32>, tensor<f32>)
      stablehlo.return %1#0, %1#1 : tensor<30xf32>, tensor<f32>
    }
  %1 = stablehlo.compare GT, %0#1, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %2:2 = "stablehlo.if"(%1) ({
    %3:2 = func.call @step(%0#0) : (tensor<30xf32>) -> (tensor<30xf32>, tensor<f32>)
    stablehlo.return %3#0, %3#1 : tensor<30xf32>, tensor<f32>
  }, {
    stablehlo.return %0#0, %0#1 : tensor<30xf32>, tensor<f32>
  }) : (tensor<i1>) -> (tensor<30xf32>, tensor<f32>)
  return %2#0, %2#1 : tensor<30xf32>, tensor<f32>
}
func.func private @step(%x: tensor<30xf32>) -> (tensor<30xf32>, tensor<f32>) {
  %c = stablehlo.constant dense<1.0> : tensor<f32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<30xf32>
  %1 = stablehlo.multiply %x, %x : tensor<30xf32>
  %2 = stablehlo.add %1, %0 : tensor<30xf32>
  %3 = stablehlo.reduce(%2 init: %z) applies stablehlo.add across dimensions = [0] : (tensor<30xf32>, tensor<f32>) -> tensor<f32>
  return %2, %3 : tensor<30xf32>, tensor<f32>
}
