// A large replicated value is reported at the operation where its sharding is lost, except values as large as a
// replicated argument, and constants.
// RUN: shardc lint %s --min-bytes 2KiB --allow large-unsharded-parameter | FileCheck %s
// RUN: shardc lint %s | FileCheck %s --check-prefix=SMALL

sdy.mesh @mesh = <["x"=4]>

// CHECK: warning[SH0910]: the result of stablehlo.dot_general, tensor<64x128xf32>, is replicated on every device: 32.0 KiB
// CHECK-NEXT: large_replicated_value.mlir:[[#@LINE+9]]:8
// CHECK: note: operand 0 of this operation is sharded [{}, {"x"}]
// CHECK: note: 1 more value of this type
// CHECK-NOT: SH0910
// SMALL: no warnings
func.func @main(%x: tensor<64x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %w: tensor<256x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<96x128xf32>) -> (tensor<64x128xf32>, tensor<96x128xf32>) {
  %c = stablehlo.constant dense<1.0> : tensor<64x128xf32>
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x256xf32>, tensor<256x128xf32>) -> tensor<64x128xf32>
  %1 = stablehlo.add %0, %c : tensor<64x128xf32>
  %2 = stablehlo.tanh %b : tensor<96x128xf32>
  return %1, %2 : tensor<64x128xf32>, tensor<96x128xf32>
}
