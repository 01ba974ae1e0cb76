// Parameters and batch sharded along one axis (FSDP): weights are all-gathered, which is not reported.
// RUN: shardc lint %s --min-bytes 0 --deny all | FileCheck %s

sdy.mesh @mesh = <["data"=4]>

// CHECK: no warnings
func.func @main(%v: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>, tf.aliasing_output = 0 : i32},
                %x: tensor<512x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<512x64xf32>, tensor<64x64xf32>) -> tensor<512x64xf32>
  %1 = stablehlo.dot_general %x, %0, contracting_dims = [0] x [0] : (tensor<512x64xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
  %2 = stablehlo.subtract %v, %1 : tensor<64x64xf32>
  return %2 : tensor<64x64xf32>
}
