// JAX's custom_partitioning is sharded by its own rule: block scales are sharded like the values that they scale. A
// dimension that is in no result is replicated.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK-LABEL: func.func public @main(
// CHECK-NOT: all_gather
// CHECK: @CustomSPMDPartitioning(%arg0, %arg1, %arg2, %arg3){{.*}} (tensor<1x4x64xf32>, tensor<1x8x64xf32>, tensor<1x4x2xf32>, tensor<1x8x2xf32>) -> tensor<1x4x8xf32>
// CHECK: %[[WHOLE:.*]] = "stablehlo.all_gather"({{.*}}) <{all_gather_dim = 2 : i64
// CHECK: @CustomSPMDPartitioning(%[[WHOLE]],
func.func public @main(%a: tensor<1x16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}]>}, %b: tensor<1x16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, %sa: tensor<1x16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}]>}, %sb: tensor<1x16x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}, {}]>}, %c: tensor<1x16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"model"}]>}) -> (tensor<1x16x16xf32>, tensor<1x16x16xf32>) {
  %0 = stablehlo.custom_call @CustomSPMDPartitioning(%a, %b, %sa, %sb) {api_version = 2 : i32, backend_config = "1", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, l, k], [i, j, k], [i, l, k])->([i, j, l]) {i=1, j=16, k=2, l=16}, custom>} : (tensor<1x16x64xf32>, tensor<1x16x64xf32>, tensor<1x16x2xf32>, tensor<1x16x2xf32>) -> tensor<1x16x16xf32>
  %1 = stablehlo.custom_call @CustomSPMDPartitioning(%c, %b, %sa, %sb) {api_version = 2 : i32, backend_config = "2", sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k], [i, l, k], [i, j, k], [i, l, k])->([i, j, l]) {i=1, j=16, k=2, l=16}, custom>} : (tensor<1x16x64xf32>, tensor<1x16x64xf32>, tensor<1x16x2xf32>, tensor<1x16x2xf32>) -> tensor<1x16x16xf32>
  return %0, %1 : tensor<1x16x16xf32>, tensor<1x16x16xf32>
}
