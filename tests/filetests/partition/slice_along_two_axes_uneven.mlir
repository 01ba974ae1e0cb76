// RUN: shardc partition %s -o - | FileCheck %s
// Ten elements over eight devices are shards of two. Neither axis alone gives shards that the other one could slice.

sdy.mesh @mesh = <["x"=2, "y"=4]>

// CHECK-LABEL: func.func @main(%arg0: tensor<10xf32>) -> tensor<2xf32>
func.func @main(%arg0: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>}) {
  // CHECK: stablehlo.pad %arg0, %{{.*}}, low = [0], high = [6], interior = [0] : (tensor<10xf32>, tensor<f32>) -> tensor<16xf32>
  // CHECK: stablehlo.dynamic_slice %{{.*}}, %{{.*}}, sizes = [2] : (tensor<16xf32>, tensor<i32>) -> tensor<2xf32>
  %0 = sdy.sharding_constraint %arg0 <@mesh, [{"x", "y"}]> : tensor<10xf32>
  return %0 : tensor<10xf32>
}
