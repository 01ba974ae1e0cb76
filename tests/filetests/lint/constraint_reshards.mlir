// A constraint that moves data is reported; one that turns an all-reduce into a reduce-scatter is not, because it sends less.
// RUN: shardc lint %s --min-bytes 0 | FileCheck %s
// RUN: shardc lint %s | FileCheck %s --check-prefix=SMALL

sdy.mesh @mesh = <["data"=4]>

// CHECK: warning[SH0908]: the constraint [{}, {"data"}] forces a reshard of tensor<32x64xf32> from [{"data"}, {}]: each device sends 1.5 KiB
// CHECK-NEXT: constraint_reshards.mlir:[[#@LINE+8]]:8
// CHECK: help: write [{"data"}, {}] if that sharding is sufficient
// CHECK-NOT: SH0908
// SMALL: no warnings
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %a: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>},
                %b: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<32x64xf32>, tensor<32x32xf32>) {
  %0 = stablehlo.tanh %x : tensor<32x64xf32>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"data"}]> : tensor<32x64xf32>
  %2 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x32xf32>) -> tensor<32x32xf32>
  %3 = sdy.sharding_constraint %2 <@mesh, [{"data"}, {}]> : tensor<32x32xf32>
  return %1, %3 : tensor<32x64xf32>, tensor<32x32xf32>
}
