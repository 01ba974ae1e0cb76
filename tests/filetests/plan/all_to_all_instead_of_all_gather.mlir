// An operation that needs an unsharded dimension is sharded along another one, by an all-to-all. Its result is used
// with this sharding by the next such operation.
// RUN: shardc opt %s --split-input-file --passes propagate,plan,dce -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN --allow-empty < %t.err
// WARN-NOT: {{.}}

sdy.mesh @mesh = <["x"=4]>

// CHECK: %[[ROWS:.*]] = sdy.reshard %arg0 <@mesh, [{"x"}, {}]>
// CHECK-NEXT: %[[UP:.*]] = "stablehlo.sort"(%[[ROWS]])
// CHECK: %[[DOWN:.*]] = "stablehlo.sort"(%[[UP]])
// CHECK: sdy.reshard %[[DOWN]] <@mesh, [{}, {"x"}]>
func.func @main(%a: tensor<256x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<256x512xf32> {
  %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<256x512xf32>) -> tensor<256x512xf32>
  %2 = "stablehlo.sort"(%0) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.compare GT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<256x512xf32>) -> tensor<256x512xf32>
  return %2 : tensor<256x512xf32>
}

// -----

// Two axes may end up on one dimension.
sdy.mesh @mesh = <["x"=4, "y"=2]>
// CHECK: %[[ROWS:.*]] = sdy.reshard %arg0 <@mesh, [{"y", "x"}, {}]>
// CHECK-NEXT: stablehlo.fft %[[ROWS]]
func.func @main(%a: tensor<64x512xcomplex<f32>> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) -> tensor<64x512xcomplex<f32>> {
  %0 = stablehlo.fft %a, type = FFT, length = [512] : (tensor<64x512xcomplex<f32>>) -> tensor<64x512xcomplex<f32>>
  return %0 : tensor<64x512xcomplex<f32>>
}

// -----

// Blocks of three of ten still save most of a gather.
sdy.mesh @mesh = <["x"=4]>
// CHECK: %[[ROWS:.*]] = sdy.reshard %arg0 <@mesh, [{"x"}, {}]>
// CHECK: "stablehlo.reduce_window"(%[[ROWS]],
func.func @main(%a: tensor<10x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<10x4096xf32> {
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 1, 4096>, padding = dense<[[0, 0], [2048, 2047]]> : tensor<2x2xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<10x4096xf32>, tensor<f32>) -> tensor<10x4096xf32>
  return %0 : tensor<10x4096xf32>
}
