// RUN: shardc partition %s -o - | FileCheck %s

// The start of a slice of several elements is clamped before the shard is sliced, because XLA adds the starts of both
// slices. A single element is not sliced further, and a constant start is in bounds.

sdy.mesh @mesh = <["x"=4]>
// CHECK-LABEL: func.func public @main
func.func public @main(%a: tensor<20x6xf32>, %i: tensor<i32>) -> (tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<1x6xf32>, tensor<4x6xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  // CHECK: %[[LAST:.*]] = stablehlo.constant dense<4> : tensor<i32>
  // CHECK: %[[START:.*]] = stablehlo.clamp %{{.*}}, %arg1, %[[LAST]] : tensor<i32>
  // CHECK: stablehlo.dynamic_slice %arg0, %[[START]], %{{.*}}, sizes = [16, 6]
  // CHECK-NOT: stablehlo.clamp
  %0 = stablehlo.dynamic_slice %a, %i, %zero, sizes = [16, 6] : (tensor<20x6xf32>, tensor<i32>, tensor<i32>) -> tensor<16x6xf32>
  %1 = stablehlo.dynamic_slice %a, %i, %zero, sizes = [1, 6] : (tensor<20x6xf32>, tensor<i32>, tensor<i32>) -> tensor<1x6xf32>
  %2 = stablehlo.dynamic_slice %a, %two, %zero, sizes = [4, 6] : (tensor<20x6xf32>, tensor<i32>, tensor<i32>) -> tensor<4x6xf32>
  return %0, %1, %2 : tensor<16x6xf32>, tensor<1x6xf32>, tensor<4x6xf32>
}
