// A mesh may have any device order: replica groups contain device ids, not positions in the mesh.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["data"=4], device_ids=[3, 1, 0, 2]>

// CHECK: "stablehlo.all_gather"(%arg0) <{all_gather_dim = 0 : i64, replica_groups = dense<{{\[}}[3, 1, 0, 2]]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  return %x : tensor<8xf32>
}
