// An unreduced sum that the program requests is added to another without communication: one all-reduce completes both.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc verify %s

// CHECK: %[[P:.*]] = stablehlo.dot_general
// CHECK-NEXT: %[[S:.*]] = stablehlo.add %[[P]], %[[P]]
// CHECK-NEXT: "stablehlo.all_reduce"(%[[S]])
// CHECK-NOT: stablehlo.all_reduce

module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}, %arg1: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> (tensor<8x16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"data"}, {}], unreduced={"model"}> : tensor<8x16xf32>
    %2 = stablehlo.add %1, %1 : tensor<8x16xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"data"}, {}], unreduced={"model"}> : tensor<8x16xf32>
    %4 = sdy.sharding_constraint %3 <@mesh, [{"data"}, {}]> : tensor<8x16xf32>
    return %4 : tensor<8x16xf32>
  }
}
