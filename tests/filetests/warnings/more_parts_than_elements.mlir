// An axis that is larger than the dimension that it shards is reported, with the fraction of devices that have only
// padding. Other uneven shardings are reported by lint.
// RUN: shardc partition %s -o %t.mlir --strict 2>&1 | FileCheck %s --implicit-check-not=warning[
// RUN: shardc lint %s | FileCheck %s --check-prefix=LINT

sdy.mesh @mesh = <["data"=8, "model"=2]>

// CHECK: warning[SH0912]: dimension 0 of argument 0, tensor<6x64xf32>, is sharded 8 ways along "data", into more blocks than it has elements: 6 elements in 8 blocks of 1, 2 of padding (25.0%)
// CHECK-NEXT: more_parts_than_elements.mlir:[[#@LINE+13]]:17
// CHECK: help: shard another dimension, or this one along "model", which divides it
// CHECK: warning[SH0912]: dimension 0 of this constraint, tensor<3x64xf32>, is sharded 8 ways along "data", into more blocks than it has elements: 3 elements in 8 blocks of 1, 5 of padding (62.5%)
// CHECK-NEXT: more_parts_than_elements.mlir:[[#@LINE+21]]:8
// CHECK: help: shard another dimension: no axis of the mesh divides 3
// CHECK: warning[SH0903]: the sharding [{"model"}, {}] of argument 2 shards dimension 0, which has size 1: one of 2 devices holds the element, the others hold padding (50.0%)
// CHECK: help: write [{}, {}], so that every device holds the element
// LINT: warning[SH0903]
// LINT: warning[SH0906]: dimension 0 of argument 1
// LINT: warning[SH0906]: dimension 0 of result 1
// LINT-NOT: warning[SH0906]
// LINT: warning[SH0912]: dimension 0 of argument 0
// LINT: warning[SH0912]: dimension 0 of this constraint
func.func @main(%x: tensor<6x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %y: tensor<30x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %z: tensor<1x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
                %w: tensor<3x64xf32>)
    -> (tensor<6x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<30x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
        tensor<1x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<3x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.tanh %x : tensor<6x64xf32>
  %1 = stablehlo.tanh %y : tensor<30x64xf32>
  %2 = stablehlo.tanh %z : tensor<1x64xf32>
  %3 = sdy.sharding_constraint %w <@mesh, [{"data"}, {}]> : tensor<3x64xf32>
  return %0, %1, %2, %3 : tensor<6x64xf32>, tensor<30x64xf32>, tensor<1x64xf32>, tensor<3x64xf32>
}
