// The sharding rule of a custom call must fit the call in number, rank and size; all errors are reported.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

// CHECK: error[SH0218]: sdy.sharding_rule of stablehlo.custom_call @rank has factors for 1 dimensions of operand 0, which has rank 2
// CHECK: = help: the rule is #sdy.op_sharding_rule<([i])->([i, j]) {i=8, j=4}, custom>
// CHECK: error[SH0218]: sdy.sharding_rule of stablehlo.custom_call @count has factors for 2 operands, but the operation has 1
// CHECK: error[SH0218]: sdy.sharding_rule of stablehlo.custom_call @size has the factors j=8 for dimension 1 of operand 0, which has 4 elements: tensor<8x4xf32>
// CHECK: error[SH0218]: sdy.sharding_rule of stablehlo.custom_call @two_sizes has the factors j=4 for dimension 0 of result 0, which has 8 elements: tensor<8x4xf32>
// CHECK-NOT: error[
func.func @main(%a: tensor<8x4xf32>, %q: tensor<8x!quant.uniform<i8:f32, 5.000000e-01>>, %s: tensor<2xf32>) -> tensor<8x4xf32> {
  %0 = stablehlo.custom_call @rank(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i, j]) {i=8, j=4}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.custom_call @count(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=8, j=4}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %2 = stablehlo.custom_call @size(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %3 = stablehlo.custom_call @two_sizes(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([j, i]) {i=8, j=4}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  // A factor that is never sharded may change its size; several factors may make a dimension; quantized elements do not matter.
  %4 = stablehlo.custom_call @whole(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=2} need_replication={j}, custom>} : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %5 = stablehlo.custom_call @product(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([ij, k])->([i, jk]) {i=2, j=4, k=4}, custom>} : (tensor<8x4xf32>) -> tensor<2x16xf32>
  %6 = stablehlo.custom_call @quantized(%q) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i]) {i=8}, custom>} : (tensor<8x!quant.uniform<i8:f32, 5.000000e-01>>) -> tensor<8xf32>
  // A factor may stand for blocks of elements: two scales for eight elements.
  %7 = stablehlo.custom_call @scaled(%a, %s) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i])->([j]) {i=2, j=4} reduction={i}, custom>} : (tensor<8x4xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %3 : tensor<8x4xf32>
}
