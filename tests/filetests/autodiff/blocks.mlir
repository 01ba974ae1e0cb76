// Loop checkpointing in blocks: for 18 iterations, the initial values of three blocks of six are saved, and each
// block is recomputed before its gradient. 7 iterations are two blocks of three and one iteration.
// RUN: shardc grad %s --wrt x --blocks -o - | FileCheck %s

// CHECK: %[[STATES:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<3x16xf32>
// CHECK-NEXT: %[[ALL:.*]]:6 = stablehlo.while({{.*}} = %[[STATES]])
// CHECK: %[[PAIRS:.*]] = stablehlo.constant dense<0.000000e+00> : tensor<2x16xf32>
// CHECK-NEXT: %[[SEVEN:.*]]:5 = stablehlo.while({{.*}} = %[[ALL]]#1, {{.*}} = %[[PAIRS]])
// CHECK: %[[REST:.*]]:4 = stablehlo.while(%{{.*}} = %[[SEVEN]]#0, %{{.*}} = %[[SEVEN]]#1
// CHECK: stablehlo.while({{.*}} = %[[REST]]#3)
// CHECK: stablehlo.while({{.*}} = %[[SEVEN]]#4)
// CHECK: stablehlo.while({{.*}} = %[[ALL]]#5, {{.*}} = %arg1)
// CHECK: %[[BEGIN:.*]]:4 = stablehlo.optimization_barrier
// The counter of the forward pass is not carried again.
// CHECK: %[[AGAIN:.*]]:4 = stablehlo.while(%{{.*}} = %[[BEGIN]]#1, %{{.*}} = %[[BEGIN]]#2
// CHECK: stablehlo.while({{.*}} = %[[BEGIN]]#3, {{.*}} = %[[AGAIN]]#3
func.func @main(%x: tensor<16xf32>, %w: tensor<16xf32>) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<18> : tensor<i32>
  %l:3 = stablehlo.while(%i = %c0, %v = %x, %u = %w) : tensor<i32>, tensor<16xf32>, tensor<16xf32>
  cond {
    %t = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %next = stablehlo.add %i, %c1 : tensor<i32>
    %a = stablehlo.multiply %v, %u : tensor<16xf32>
    %s = stablehlo.sine %a : tensor<16xf32>
    stablehlo.return %next, %s, %u : tensor<i32>, tensor<16xf32>, tensor<16xf32>
  }
  %m = stablehlo.constant dense<7> : tensor<i32>
  %k:2 = stablehlo.while(%i = %c0, %v = %l#1) : tensor<i32>, tensor<16xf32>
  cond {
    %t = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %next = stablehlo.add %i, %c1 : tensor<i32>
    %f = stablehlo.convert %i : (tensor<i32>) -> tensor<f32>
    %b = stablehlo.broadcast_in_dim %f, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %a = stablehlo.add %v, %b : tensor<16xf32>
    %s = stablehlo.cosine %a : tensor<16xf32>
    stablehlo.return %next, %s : tensor<i32>, tensor<16xf32>
  }
  %r = stablehlo.reduce(%k#1 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16xf32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}
