// Both operands are sharded along the same axis, but only one can be: the matmul uses an all-gathered operand. The
// operation could work on shards, so this is reported.
// RUN: shardc partition %s -o - 2>&1 | FileCheck %s
// RUN: not shardc partition %s --strict -o - 2>&1 | FileCheck %s --check-prefix=STRICT

sdy.mesh @mesh = <["data"=4]>

// CHECK: warning[SH0909]: the result of stablehlo.tanh, tensor<16x32xf32>, is sharded [{"data"}, {}] and all-gathered on every device for stablehlo.dot_general: 2.0 KiB
// CHECK: all_gather_for_conflict.mlir:[[# @LINE + 8]]
// CHECK: help: the operation's other operands or its result are sharded differently
// CHECK: stablehlo.all_gather
// STRICT: error[SH0909]
func.func @main(%x: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = stablehlo.tanh %x : tensor<16x32xf32>
  // Every row with every other one.
  %1 = stablehlo.dot_general %0, %0, contracting_dims = [1] x [1]
      : (tensor<16x32xf32>, tensor<16x32xf32>) -> tensor<16x16xf32>
  return %1 : tensor<16x16xf32>
}
