// Forward mode takes a tangent for each named argument, and carries tangents through loops, including those with unknown trip counts.
// RUN: shardc jvp %s --wrt x -o - | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-SAME: %arg2: tensor<4xf32>{{.*}} -> (tensor<4xf32> {jax.result_info = "tangent(res0)"})
// CHECK: %[[LOOP:.*]]:3 = stablehlo.while({{.*}} = %arg2)
// CHECK: stablehlo.cosine
// CHECK: return %[[LOOP]]#2
func.func @main(%x: tensor<4xf32>, %n: tensor<i32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<4xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %1 = stablehlo.sine %y : tensor<4xf32>
      %2 = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %2, %1 : tensor<i32>, tensor<4xf32>
    }
  return %0#1 : tensor<4xf32>
}
