// Shapes are refined in loops, branches and manual computations. A loop-invariant carried size is known in the loop.
// RUN: shardc opt %s --dim x.0=8 | FileCheck %s
// RUN: shardc verify %s --dim x.0=8

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.while
// CHECK-SAME: tensor<8x4xf32>
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<8x4xf32>
// CHECK: "stablehlo.if"
// CHECK: -> tensor<8x4xf32>
// CHECK: sdy.manual_computation
// CHECK-SAME: (%{{.*}}: tensor<4x4xf32>)
// CHECK: (tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK: return %{{.*}} : tensor<8x4xf32>

sdy.mesh @mesh = <["d"=2]>
func.func @main(%x: tensor<?x4xf32>, %p: tensor<i1>) -> tensor<?x4xf32> {
  %size = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%i = %zero, %n = %size, %acc = %x) : tensor<i32>, tensor<i32>, tensor<?x4xf32>
  cond {
    %three = stablehlo.constant dense<3> : tensor<i32>
    %c = stablehlo.compare LT, %i, %three, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %half = stablehlo.constant dense<0.5> : tensor<f32>
    %four = stablehlo.constant dense<4> : tensor<1xi32>
    %next = stablehlo.add %i, %one : tensor<i32>
    %r = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
    %s = stablehlo.concatenate %r, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %b = stablehlo.dynamic_broadcast_in_dim %half, %s, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
    %m = stablehlo.multiply %acc, %b : tensor<?x4xf32>
    stablehlo.return %next, %n, %m : tensor<i32>, tensor<i32>, tensor<?x4xf32>
  }
  %1 = "stablehlo.if"(%p) ({
    %a = stablehlo.tanh %0#2 : tensor<?x4xf32>
    stablehlo.return %a : tensor<?x4xf32>
  }, {
    stablehlo.return %0#2 : tensor<?x4xf32>
  }) : (tensor<i1>) -> tensor<?x4xf32>
  %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"d"}, {}]>] out_shardings=[<@mesh, [{"d"}, {}]>] manual_axes={"d"} (%l: tensor<?x4xf32>) {
    %b = stablehlo.negate %l : tensor<?x4xf32>
    sdy.return %b : tensor<?x4xf32>
  } : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}
