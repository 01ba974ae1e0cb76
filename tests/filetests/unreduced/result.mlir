// A result that is annotated as unreduced is returned as partial sums, which the manifest records.
// RUN: shardc partition %s -o - --manifest %t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: shardc verify %s

// CHECK: %[[P:.*]] = stablehlo.dot_general
// CHECK-NEXT: return %[[P]]
// JSON: "outputs"
// JSON: "local_shape": [
// JSON-NEXT: 4,
// JSON-NEXT: 16
// JSON: "unreduced": [
// JSON-NEXT: "model"

module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}, {name = "model", size = 4 : i64}]}}
  func.func public @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}, %arg1: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> (tensor<8x16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}], unreduced={"model"}>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"data"}, {}], unreduced={"model"}> : tensor<8x16xf32>
    return %1 : tensor<8x16xf32>
  }
}
