// A batch of 24 rows is padded if the axis does not divide it.
// RUN: shardc plan %s --sweep v5e | FileCheck %s

// CHECK: HFU padding
// CHECK: v5e:4x4 {{.*}} 25.0 %
// CHECK: v5e:8x8 {{.*}} 62.5 %
sdy.mesh @mesh = <["data"=4]>
func.func @main(
    %x: tensor<24x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<24x4096xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<24x4096xf32>, tensor<4096x4096xf32>) -> tensor<24x4096xf32>
  return %0 : tensor<24x4096xf32>
}
