// A value that is sharded along an axis, and becomes unreduced along it, is padded with zeros to its position, also if shards are uneven.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc verify %s

// CHECK-NOT: all_gather
// CHECK: stablehlo.dynamic_update_slice
// CHECK: stablehlo.slice
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<10x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (tensor<10x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}], unreduced={"x"}>},
        tensor<10x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x", "y"}>}) {
  return %a, %a : tensor<10x6xf32>, tensor<10x6xf32>
}
