// Shards of ten rows and of ten columns are not aligned: the value is replicated in between, which is reported.
// RUN: shardc partition %s -o %t.mlir 2>&1 | FileCheck %s
// RUN: not shardc partition %s -o %t.mlir --strict 2>&1 | FileCheck %s --check-prefix=STRICT

sdy.mesh @mesh = <["x"=4, "y"=2]>

// CHECK: warning[SH0318]: a value of type tensor<10xf32> (40 B) is fully replicated to change its sharding
// STRICT: error[SH0318]
func.func @main(%a: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %0 = stablehlo.negate %a : tensor<10xf32>
  return %0 : tensor<10xf32>
}
