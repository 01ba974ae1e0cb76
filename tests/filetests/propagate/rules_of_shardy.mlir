// RUN: shardc propagate %s --rules shardy | FileCheck %s
// RUN: shardc propagate %s | FileCheck %s --check-prefix=WHOLE

// Shardy has no rules for CHLO, which XLA expands before Shardy sees it.

sdy.mesh @mesh = <["x"=2]>

// CHECK: -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>})
// WHOLE: -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = chlo.erf_inv %a : tensor<8xf32> -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
