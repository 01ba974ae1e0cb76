// A table with one entry is emitted as it is parsed; localizing the output again treats it as a program for one device.
// RUN: shardc opt %s --passes propagate,localize,localize --spmd-mode partition | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK-NOT: dense<[
// CHECK: dense<0> : tensor<1xi32>
// CHECK-NOT: dense<[
func.func @main(
    %cache: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %new: tensor<1x4xf32>, %at: tensor<i32>) -> (tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_update_slice %cache, %new, %at, %zero : (tensor<16x4xf32>, tensor<1x4xf32>, tensor<i32>, tensor<i32>) -> tensor<16x4xf32>
  return %0 : tensor<16x4xf32>
}
