// With offload, a stack of matrices is in host memory, and rows are copied to the device. A stack of vectors of less
// than 32 bits stays on the device: libtpu does not slice it in host memory.
// RUN: shardc fsdp apply %s --fsdp "full_shard offload" --mesh fsdp=4 | FileCheck %s
// CHECK: %arg0: tensor<3x16x16xf32> {mhlo.memory_kind = "pinned_host"
// CHECK-SAME: %arg1: tensor<3x16xbf16> {sdy.sharding
// CHECK-SAME: %arg2: tensor<3x16xf32> {mhlo.memory_kind = "pinned_host"
func.func @main(
    %w: tensor<3x16x16xf32> {tf.aliasing_output = 0 : i32} loc("params['w']"),
    %s: tensor<3x16xbf16> {tf.aliasing_output = 1 : i32} loc("params['scale']"),
    %b: tensor<3x16xf32> {tf.aliasing_output = 2 : i32} loc("params['bias']"),
    %x: tensor<8x16xf32> loc("x")) -> (tensor<3x16x16xf32>, tensor<3x16xbf16>, tensor<3x16xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %nothing = stablehlo.constant dense<0.0> : tensor<f32>
  %l:5 = stablehlo.while(%i = %zero, %ws = %w, %ss = %s, %bs = %b, %h = %x) : tensor<i32>, tensor<3x16x16xf32>, tensor<3x16xbf16>, tensor<3x16xf32>, tensor<8x16xf32>
  cond {
    %t = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %row = stablehlo.dynamic_slice %ws, %i, %zero, %zero, sizes = [1, 16, 16] : (tensor<3x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %wi = stablehlo.reshape %row : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
    %srow = stablehlo.dynamic_slice %ss, %i, %zero, sizes = [1, 16] : (tensor<3x16xbf16>, tensor<i32>, tensor<i32>) -> tensor<1x16xbf16>
    %si = stablehlo.reshape %srow : (tensor<1x16xbf16>) -> tensor<16xbf16>
    %sf = stablehlo.convert %si : (tensor<16xbf16>) -> tensor<16xf32>
    %brow = stablehlo.dynamic_slice %bs, %i, %zero, sizes = [1, 16] : (tensor<3x16xf32>, tensor<i32>, tensor<i32>) -> tensor<1x16xf32>
    %bi = stablehlo.reshape %brow : (tensor<1x16xf32>) -> tensor<16xf32>
    %scale = stablehlo.broadcast_in_dim %sf, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
    %bias = stablehlo.broadcast_in_dim %bi, dims = [1] : (tensor<16xf32>) -> tensor<8x16xf32>
    %u = stablehlo.dot_general %h, %wi, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %v = stablehlo.multiply %u, %scale : tensor<8x16xf32>
    %next = stablehlo.add %v, %bias : tensor<8x16xf32>
    %n = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %n, %ws, %ss, %bs, %next : tensor<i32>, tensor<3x16x16xf32>, tensor<3x16xbf16>, tensor<3x16xf32>, tensor<8x16xf32>
  }
  %loss = stablehlo.reduce(%l#4 init: %nothing) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x16xf32>, tensor<f32>) -> tensor<f32>
  %dw = stablehlo.broadcast_in_dim %loss, dims = [] : (tensor<f32>) -> tensor<3x16x16xf32>
  %db = stablehlo.broadcast_in_dim %loss, dims = [] : (tensor<f32>) -> tensor<3x16xf32>
  %ds = stablehlo.convert %db : (tensor<3x16xf32>) -> tensor<3x16xbf16>
  %nw = stablehlo.subtract %w, %dw : tensor<3x16x16xf32>
  %ns = stablehlo.subtract %s, %ds : tensor<3x16xbf16>
  %nb = stablehlo.subtract %b, %db : tensor<3x16xf32>
  return %nw, %ns, %nb, %loss : tensor<3x16x16xf32>, tensor<3x16xbf16>, tensor<3x16xf32>, tensor<f32>
}
