// An operation that cannot work on shards is reported if its operand is large, with the code of that operation's diagnostic.
// RUN: shardc lint %s --min-bytes 0 --allow large-replicated-value,everything-replicated | FileCheck %s
// RUN: shardc lint %s --allow everything-replicated | FileCheck %s --check-prefix=SMALL

sdy.mesh @mesh = <["x"=4]>

// CHECK: warning[SH0310]: stablehlo.sort needs dimension 0 of operand 0 replicated, so the operand is all-gathered
// CHECK: rule gather-for-operation
// CHECK: 1 warning
// SMALL: no warnings
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
