// A sharding rule does not make a kernel or host code work on shards, and a known target is recognized: the hint fits.
// RUN: shardc opt %s --passes propagate,plan 2>&1 >%t.mlir | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK: warning[SH0310]: stablehlo.custom_call @tpu_custom_call needs dimension 0 of operand 0 replicated, so the operand is all-gathered: tensor<8x8xf32>, sharded [{"x"}, {}], 256 B
// CHECK: = help: the kernel is compiled for fixed shapes
// CHECK: warning[SH0310]: stablehlo.custom_call @Cholesky needs dimension 0 of operand 0 replicated, so the operand is all-gathered: tensor<8x8xf32>, sharded [{"x"}, {}], 256 B
// CHECK: = help: shardc cannot partition this operation along that dimension yet
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = stablehlo.custom_call @tpu_custom_call(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=8, j=8}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.custom_call @Cholesky(%b) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
