// If the result is needed replicated, the operand is all-gathered, and the warning says how to avoid it.
// RUN: shardc opt %s --passes plan -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN < %t.err

sdy.mesh @mesh = <["x"=4]>

// CHECK: %[[WHOLE:.*]] = sdy.reshard %arg0 <@mesh, [{}]>
// CHECK: stablehlo.slice %[[WHOLE]] [1:15]
// WARN: warning[SH0310]: stablehlo.slice needs dimension 0 of operand 0 replicated, so the operand is all-gathered: tensor<16xf32>, sharded [{"x"}], 64 B
// WARN: = help: an all-gather of so few bytes costs less than the launch of another collective{{.*}}annotate the result with the same sharding of that dimension
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<14xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = stablehlo.slice %a [1:15] : (tensor<16xf32>) -> tensor<14xf32>
  return %0 : tensor<14xf32>
}
