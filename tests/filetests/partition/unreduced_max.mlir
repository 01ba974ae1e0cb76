// JAX 0.12 has maxima and minima that are unreduced: a reduction is completed where the program requests it, on fewer elements.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc partition %s --spmd-mode partition -o - | FileCheck %s
sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK: func.func public @main(%arg0: tensor<4x16xf32>{{.*}}) -> (tensor<8xf32>{{.*}}, tensor<16xf32>
func.func public @main(%arg0: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>}, tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  // CHECK: %[[LARGEST:.*]] = stablehlo.reduce(%arg0 {{.*}} stablehlo.maximum
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %0 = stablehlo.reduce(%arg0 init: %cst) applies stablehlo.maximum across dimensions = [0] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}], unreduced=max{"data"}> : tensor<16xf32>
  // CHECK: %[[PART:.*]] = stablehlo.dynamic_slice %[[LARGEST]]
  // CHECK: "stablehlo.all_reduce"(%[[PART]])
  // CHECK: stablehlo.maximum
  %2 = sdy.sharding_constraint %1 <@mesh, [{"model"}]> : tensor<16xf32>
  %inf = stablehlo.constant dense<0x7F800000> : tensor<f32>
  %3 = stablehlo.reduce(%arg0 init: %inf) applies stablehlo.minimum across dimensions = [0] : (tensor<16x16xf32>, tensor<f32>) -> tensor<16xf32>
  %4 = sdy.sharding_constraint %3 <@mesh, [{}], unreduced=min{"data"}> : tensor<16xf32>
  // CHECK: "stablehlo.all_reduce"
  // CHECK: stablehlo.minimum
  %5 = sdy.manual_computation(%4) in_shardings=[<@mesh, [{}], unreduced=min{"data"}>] out_shardings=[<@mesh, [{}]>] manual_axes={"data", "model"} (%arg1: tensor<16xf32>) {
    %6 = "stablehlo.all_reduce"(%arg1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2, 4, 6], [1, 3, 5, 7]]> : tensor<2x4xi64>, use_global_device_ids}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %7 = stablehlo.minimum %a, %b : tensor<f32>
      stablehlo.return %7 : tensor<f32>
    }) : (tensor<16xf32>) -> tensor<16xf32>
    sdy.return %6 : tensor<16xf32>
  } : (tensor<16xf32>) -> tensor<16xf32>
  return %2, %5 : tensor<16xf32>, tensor<16xf32>
}
