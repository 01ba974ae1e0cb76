// A loop over a stack of layers casts its rows to bf16: a row is cast after its slice, and half as many bytes are
// all-gathered. A rounding operation precedes the cast, so that the TPU compiler does not cast the whole stack before the
// loop. A barrier, as JAX emits for rematerialization, is ignored. Rows that the loop reads in f32 are all-gathered in f32.
// RUN: shardc fsdp apply %s --fsdp full_shard --mesh fsdp=4 | FileCheck %s
// RUN: shardc partition %s --fsdp full_shard --mesh fsdp=4 -o - | FileCheck %s --check-prefix=SENT
// A stack that is all-gathered once is cast before that, and the loop carries the narrow stack.
// RUN: shardc fsdp apply %s --fsdp shard_grad_op --mesh fsdp=4 | FileCheck %s --check-prefix=KEPT

func.func @main(%w: tensor<3x16x16xf32> {tf.aliasing_output = 0 : i32}, %s: tensor<3x16x16xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<8x16xbf16>) -> (tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<bf16>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %nothing = stablehlo.constant dense<0.0> : tensor<bf16>
  // CHECK: stablehlo.while
  // SENT: stablehlo.while
  // KEPT: %[[PART:.*]] = stablehlo.convert %arg0 : (tensor<3x16x16xf32>) -> tensor<3x16x16xbf16>
  // KEPT-NEXT: %[[STACK:.*]] = sdy.sharding_constraint %[[PART]] <@mesh, [{}, {}, {}]> : tensor<3x16x16xbf16>
  // KEPT-NEXT: %[[WIDE:.*]] = sdy.sharding_constraint %arg1 <@mesh, [{}, {}, {}]> : tensor<3x16x16xf32>
  // KEPT-NEXT: stablehlo.while(%{{.*}} = %{{.*}}, %[[CARRIED:.*]] = %[[STACK]], %{{.*}} = %[[WIDE]],
  %l:4 = stablehlo.while(%i = %zero, %ws = %w, %ss = %s, %h = %x) : tensor<i32>, tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<8x16xbf16>
  cond {
    %t = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    // CHECK: %[[ROW:.*]] = stablehlo.dynamic_slice
    // CHECK-NEXT: %[[ROUNDED:.*]] = stablehlo.reduce_precision %[[ROW]], format = e8m7
    // CHECK-NEXT: %[[NARROW:.*]] = stablehlo.convert %[[ROUNDED]] : (tensor<1x16x16xf32>) -> tensor<1x16x16xbf16>
    // CHECK-NEXT: %[[WHOLE:.*]] = sdy.sharding_constraint %[[NARROW]] <@mesh, [{}, {}, {}]>
    // CHECK-NEXT: %[[W:.*]] = stablehlo.reshape %[[WHOLE]] : (tensor<1x16x16xbf16>) -> tensor<16x16xbf16>
    // CHECK-NEXT: %[[B:.*]]:2 = stablehlo.optimization_barrier %[[W]], %{{.*}} : tensor<16x16xbf16>, tensor<8x16xbf16>
    // CHECK-NEXT: stablehlo.dot_general %[[B]]#1, %[[B]]#0
    // SENT: "stablehlo.all_gather"{{.*}} -> tensor<1x16x16xbf16>
    // KEPT: %[[ROW:.*]] = stablehlo.dynamic_slice %[[CARRIED]], {{.*}} -> tensor<1x16x16xbf16>
    // KEPT-NEXT: %[[W:.*]] = stablehlo.reshape %[[ROW]] : (tensor<1x16x16xbf16>) -> tensor<16x16xbf16>
    // KEPT-NEXT: %[[B:.*]]:2 = stablehlo.optimization_barrier %[[W]], %{{.*}} : tensor<16x16xbf16>, tensor<8x16xbf16>
    // KEPT-NEXT: stablehlo.dot_general %[[B]]#1, %[[B]]#0
    %row = stablehlo.dynamic_slice %ws, %i, %zero, %zero, sizes = [1, 16, 16] : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %wide = stablehlo.reshape %row : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
    %again:2 = stablehlo.optimization_barrier %wide, %h : tensor<16x16xf32>, tensor<8x16xbf16>
    %wi = stablehlo.convert %again#0 : (tensor<16x16xf32>) -> tensor<16x16xbf16>
    %product = stablehlo.dot_general %again#1, %wi, contracting_dims = [1] x [0] : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    // CHECK: %[[SCALES:.*]] = stablehlo.dynamic_slice
    // CHECK-NEXT: sdy.sharding_constraint %[[SCALES]] <@mesh, [{}, {}, {}]> : tensor<1x16x16xf32>
    // SENT: "stablehlo.all_gather"{{.*}} -> tensor<1x16x16xf32>
    %scales = stablehlo.dynamic_slice %ss, %i, %zero, %zero, sizes = [1, 16, 16] : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %si = stablehlo.reshape %scales : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
    %narrow = stablehlo.convert %si : (tensor<16x16xf32>) -> tensor<16x16xbf16>
    %scaled = stablehlo.dot_general %product, %narrow, contracting_dims = [1] x [0] : (tensor<8x16xbf16>, tensor<16x16xbf16>) -> tensor<8x16xbf16>
    %square = stablehlo.multiply %si, %si : tensor<16x16xf32>
    %nought = stablehlo.constant dense<0.0> : tensor<f32>
    %sum = stablehlo.reduce(%square init: %nought) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x16xf32>, tensor<f32>) -> tensor<f32>
    %rounded = stablehlo.convert %sum : (tensor<f32>) -> tensor<bf16>
    %spread = stablehlo.broadcast_in_dim %rounded, dims = [] : (tensor<bf16>) -> tensor<8x16xbf16>
    %next = stablehlo.add %scaled, %spread : tensor<8x16xbf16>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %ws, %ss, %next : tensor<i32>, tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<8x16xbf16>
  }
  %loss = stablehlo.reduce(%l#3 init: %nothing) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xbf16>, tensor<bf16>) -> tensor<bf16>
  %much = stablehlo.convert %loss : (tensor<bf16>) -> tensor<f32>
  %all = stablehlo.broadcast_in_dim %much, dims = [] : (tensor<f32>) -> tensor<3x16x16xf32>
  %ws = stablehlo.subtract %w, %all : tensor<3x16x16xf32>
  %ss = stablehlo.subtract %s, %all : tensor<3x16x16xf32>
  return %ws, %ss, %loss : tensor<3x16x16xf32>, tensor<3x16x16xf32>, tensor<bf16>
}
