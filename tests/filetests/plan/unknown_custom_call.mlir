// An unknown custom call runs on replicated operands, with a warning and a hint; one with a sharding rule runs on shards.
// RUN: shardc opt %s --passes propagate,plan -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN < %t.err

sdy.mesh @mesh = <["x"=4]>

// WARN: warning[SH0310]: stablehlo.custom_call @unknown needs dimension 0 of operand 0 replicated, so the operand is all-gathered
// WARN: = help: if the target can run on shards, specify a sharding rule: sdy.sharding_rule on the call, --rules or --rule for the target
// WARN-NOT: warning
// CHECK: %[[WHOLE:.*]] = sdy.reshard %arg0 <@mesh, [{}, {}]>
// CHECK: stablehlo.custom_call @unknown(%[[WHOLE]])
// CHECK: stablehlo.custom_call @known(%arg0)
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x6xf32>, tensor<8x6xf32>) {
  %0 = stablehlo.custom_call @unknown(%a) : (tensor<8x6xf32>) -> tensor<8x6xf32>
  %1 = stablehlo.custom_call @known(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=6}, custom>} : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %0, %1 : tensor<8x6xf32>, tensor<8x6xf32>
}
