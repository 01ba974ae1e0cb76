// Arguments and results in the memory layouts that a front end requests (`mhlo.layout_mode`) keep their values.
// RUN: shardc verify %s | FileCheck %s
// RUN: shardc verify %s --spmd-mode partition | FileCheck %s

// CHECK: ok: 4 of 4 outputs equal on 8 devices and on one
sdy.mesh @mesh = <["a"=2, "b"=4]>
func.func public @main(
    %x: tensor<16x32xf32> {mhlo.layout_mode = "{0,1}", sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>},
    %y: tensor<4x6x8xf32> {mhlo.layout_mode = "{1,2,0}", sdy.sharding = #sdy.sharding<@mesh, [{"b"}, {}, {"a"}]>, tf.aliasing_output = 3 : i32},
    %z: tensor<16x6xf32> {mhlo.layout_mode = "auto"})
    -> (tensor<16x32xf32> {mhlo.layout_mode = "default"}, tensor<32x16xf32> {mhlo.layout_mode = "{0,1}"},
        tensor<6x16xf32> {mhlo.layout_mode = "auto"}, tensor<4x6x8xf32> {mhlo.layout_mode = "{1,2,0}"}) {
  %0 = stablehlo.tanh %x : tensor<16x32xf32>
  %1 = stablehlo.transpose %x, dims = [1, 0] : (tensor<16x32xf32>) -> tensor<32x16xf32>
  %2 = stablehlo.transpose %z, dims = [1, 0] : (tensor<16x6xf32>) -> tensor<6x16xf32>
  %3 = stablehlo.add %y, %y : tensor<4x6x8xf32>
  return %0, %1, %2, %3 : tensor<16x32xf32>, tensor<32x16xf32>, tensor<6x16xf32>, tensor<4x6x8xf32>
}
