// Arguments are sharded, but no operation is partitioned: reported in addition to the all-gather, and not an error with --strict.
// RUN: shardc partition %s -o %t.mlir 2>&1 | FileCheck %s
// RUN: shardc partition %s -o %t.mlir --strict --warn-bytes 1KiB 2>&1 | FileCheck %s --check-prefix=BELOW
// RUN: shardc lint %s | FileCheck %s --check-prefix=BELOW

sdy.mesh @mesh = <["x"=4]>

// CHECK: warning[SH0913]: no operation is partitioned although argument 1 is sharded [{"x"}, {}]: each of 4 devices does all the computation
// CHECK-NEXT: everything_replicated.mlir:[[#@LINE+5]]:17
// CHECK: warning[SH0310]
// BELOW: warning[SH0913]
// BELOW-NOT: SH0310
func.func @main(%a: tensor<8x8xf32>,
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.custom_call @unknown(%b) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
