// The partitioned program becomes the body of a manual computation, and partitioning the result gives the same program again.
// RUN: shardc partition %s --spmd-mode partition -o %t.local
// RUN: shardc partition %s --manual-computation -o %t.manual
// RUN: FileCheck %s --input-file=%t.manual
// RUN: shardc partition %t.manual --spmd-mode partition -o %t.again
// RUN: cmp %t.local %t.again

// CHECK: sdy.mesh @mesh = <["data"=4, "model"=2]>
// CHECK: func.func public @main(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}
// CHECK-SAME: -> (tensor<16xf32> {jax.result_info = "y", sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>})
// CHECK: sdy.manual_computation(%arg0, %arg1)
// CHECK-SAME: in_shardings=[<@mesh, [{"data"}, {}]>, <@mesh, [{}, {"model"}]>] out_shardings=[<@mesh, [{"data"}]>]
// CHECK-SAME: manual_axes={"data", "model"} (%arg2: tensor<4x8xf32>, %arg3: tensor<8x2xf32>)
// CHECK: "stablehlo.all_reduce"
// CHECK-SAME: channel_handle
// CHECK-NOT: mhlo.sharding
// CHECK: sdy.return {{.*}} : tensor<4xf32>

sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func public @main(
    %x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) -> (tensor<16xf32> {jax.result_info = "y"}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x4xf32>) -> tensor<16x4xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1] : (tensor<16x4xf32>, tensor<f32>) -> tensor<16xf32>
  return %1 : tensor<16xf32>
}
