// The random bits of a dropout depend on a key that is known before the first layer; the key waits for the preceding
// matmul, so that the bits of all layers are not generated at once.
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 --role arg1=batch --role arg2=rng_key | FileCheck %s

// CHECK: %[[Y:.*]] = stablehlo.dot_general
// CHECK: %[[KEY:.*]]:2 = stablehlo.optimization_barrier %arg2, %[[Y]] : tensor<ui32>, tensor<8x64x64xf32>
// CHECK-NEXT: %[[START:.*]] = stablehlo.broadcast_in_dim %[[KEY]]#0
// CHECK: stablehlo.while(%{{.*}} = %{{.*}}, %{{.*}} = %[[START]])
func.func @main(%w: tensor<64x64xf32> {tf.aliasing_output = 0 : i32}, %x: tensor<8x64x64xf32>, %key: tensor<ui32>)
    -> (tensor<64x64xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %none = stablehlo.constant dense<0> : tensor<i32>
  %h = stablehlo.tanh %x : tensor<8x64x64xf32>
  %y = stablehlo.dot_general %h, %w, contracting_dims = [2] x [0] : (tensor<8x64x64xf32>, tensor<64x64xf32>) -> tensor<8x64x64xf32>
  %start = stablehlo.broadcast_in_dim %key, dims = [] : (tensor<ui32>) -> tensor<8x64x64xui32>
  %bits:2 = stablehlo.while(%i = %none, %b = %start) : tensor<i32>, tensor<8x64x64xui32>
  cond {
    %five = stablehlo.constant dense<5> : tensor<i32>
    %c = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %more = stablehlo.xor %b, %b : tensor<8x64x64xui32>
    stablehlo.return %next, %more : tensor<i32>, tensor<8x64x64xui32>
  }
  %mask = stablehlo.convert %bits#1 : (tensor<8x64x64xui32>) -> tensor<8x64x64xf32>
  %kept = stablehlo.multiply %y, %mask : tensor<8x64x64xf32>
  %sum = stablehlo.reduce(%kept init: %zero) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<8x64x64xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.dot_general %h, %mask, contracting_dims = [0, 1] x [0, 1] : (tensor<8x64x64xf32>, tensor<8x64x64xf32>) -> tensor<64x64xf32>
  %w1 = stablehlo.subtract %w, %g : tensor<64x64xf32>
  return %w1, %sum : tensor<64x64xf32>, tensor<f32>
}
