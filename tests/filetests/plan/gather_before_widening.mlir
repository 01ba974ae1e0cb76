// RUN: shardc opt %s --passes plan | FileCheck %s
// A value that is cast to a wider type, or broadcast, is sent before that, while it is small; the cast or broadcast
// is recomputed.

sdy.mesh @mesh = <["data"=4]>

// CHECK-LABEL: func.func public @main
// CHECK: %[[GATHERED:.*]] = sdy.reshard %arg1 <@mesh, [{}, {}]> : tensor<64x64xbf16>
// CHECK: %[[WIDE:.*]] = stablehlo.convert %[[GATHERED]] {{.*}} (tensor<64x64xbf16>) -> tensor<64x64xf32>
// CHECK: stablehlo.dot_general %arg0, %[[WIDE]]
func.func public @main(
    %arg0: tensor<1024x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %arg1: tensor<64x64xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<1024x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = stablehlo.convert %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>]>} : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %1 = stablehlo.dot_general %arg0, %0, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>]>} : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  return %1 : tensor<1024x64xf32>
}
