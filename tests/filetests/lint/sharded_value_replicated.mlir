// A sharded activation that is all-gathered because its matmul is sharded otherwise is reported; an all-gathered weight is not.
// RUN: shardc lint %s --min-bytes 1KiB | FileCheck %s
// RUN: shardc lint %s | FileCheck %s --check-prefix=SMALL

sdy.mesh @mesh = <["x"=4]>

// CHECK: warning[SH0909]: the result of stablehlo.tanh, tensor<64x64xf32>, is sharded [{"x"}, {}] and all-gathered on every device for stablehlo.dot_general: 16.0 KiB
// CHECK-NEXT: sharded_value_replicated.mlir:[[#@LINE+8]]:8
// CHECK-NOT: SH0909
// SMALL: no warnings
func.func @main(%x: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %w: tensor<64x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %v: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<64x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<64x16xf32>) {
  %0 = stablehlo.tanh %x : tensor<64x64xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x4096xf32>) -> tensor<64x4096xf32>
  %2 = stablehlo.dot_general %0, %v, contracting_dims = [1] x [0] : (tensor<64x64xf32>, tensor<64x16xf32>) -> tensor<64x16xf32>
  return %1, %2 : tensor<64x4096xf32>, tensor<64x16xf32>
}
