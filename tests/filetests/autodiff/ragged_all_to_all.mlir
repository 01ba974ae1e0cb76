// In the backward pass, each slice returns to its sender: sizes and offsets are swapped, and devices exchange the
// offsets. The cotangent of the initial result is zero where a slice was written.
// RUN: shardc grad %s --wrt x,init -o - | FileCheck %s

// CHECK: stablehlo.custom_call @ragged_all_to_all(%arg4, %arg5, %{{.*}}, %{{.*}}, %arg6, %arg7)
// CHECK: manual_axes={"d"} (%arg4: tensor<8x4xf32>, %arg5: tensor<2xi32>, %arg6: tensor<2xi32>)
// CHECK: %[[WRITTEN_AT:.*]] = "stablehlo.all_to_all"(%arg5)
// CHECK: %[[SENT_FROM:.*]] = "stablehlo.all_to_all"(%{{.*}})
// CHECK: stablehlo.custom_call @ragged_all_to_all(%arg4, %{{.*}}, %[[WRITTEN_AT]], %arg6, %[[SENT_FROM]], %{{.*}}) {{.*}} -> tensor<4x4xf32>
// CHECK: stablehlo.select %{{.*}}, %{{.*}}, %arg4
sdy.mesh @mesh = <["d"=2]>
func.func @main(%x: tensor<8x4xf32>, %init: tensor<16x4xf32>, %out: tensor<4xi32>, %receive: tensor<4xi32>) -> tensor<f32> {
  %0 = sdy.manual_computation(%x, %init, %out, %receive) in_shardings=[<@mesh, [{"d"}, {}]>, <@mesh, [{"d"}, {}]>, <@mesh, [{"d"}]>, <@mesh, [{"d"}]>] out_shardings=[<@mesh, [{"d"}, {}]>] manual_axes={"d"} (%rows: tensor<4x4xf32>, %into: tensor<8x4xf32>, %to: tensor<2xi32>, %sizes: tensor<2xi32>) {
    %from = stablehlo.constant dense<[0, 1]> : tensor<2xi32>
    %send = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
    %1 = stablehlo.custom_call @ragged_all_to_all(%rows, %into, %from, %send, %to, %sizes) {api_version = 4 : i32, backend_config = {channel_id = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}} : (tensor<4x4xf32>, tensor<8x4xf32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<8x4xf32>
    sdy.return %1 : tensor<8x4xf32>
  } : (tensor<8x4xf32>, tensor<16x4xf32>, tensor<4xi32>, tensor<4xi32>) -> tensor<16x4xf32>
  %2 = stablehlo.multiply %0, %0 : tensor<16x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x4xf32>, tensor<f32>) -> tensor<f32>
  return %3 : tensor<f32>
}
