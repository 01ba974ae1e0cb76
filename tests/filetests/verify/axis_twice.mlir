// An axis shards at most one dimension of a tensor.
// RUN: not shardc opt %s 2>&1 | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK: error[SH0212]: {{.*}}axis x is used twice
func.func @main(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"x"}]>}) -> tensor<4x8xf32> {
  return %a : tensor<4x8xf32>
}
