// Replica groups may be written as axes of a mesh, which the module then contains; parsing the output gives the same groups.
// RUN: shardc partition %s -o %t.mlir --groups mesh-axes
// RUN: shardc opt %t.mlir --passes verify-collectives | FileCheck %s
// RUN: shardc partition %s -o - --mesh data=4,model=262144 --groups mesh-axes | FileCheck %s --check-prefix=MANY

// CHECK: sdy.mesh @mesh = <["data"=4, "model"=2]>
// CHECK: "stablehlo.all_reduce"({{.*}}) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "model">]>}>
// CHECK: "stablehlo.all_gather"(%arg1) <{all_gather_dim = 0 : i64, replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "data", sub_axis_info = (2)2>]>}>

// MANY: mhlo.num_replicas = 1048576
// MANY: sdy.mesh @mesh = <["data"=4, "model"=262144]>
// MANY: "stablehlo.all_reduce"({{.*}}) <{replica_groups = #stablehlo.replica_group_mesh_axes<mesh = @mesh, axes = [#stablehlo.axis_ref<name = "model">]>}>

sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%x: tensor<4096x262144xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
                %y: tensor<4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>})
    -> (tensor<4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>},
        tensor<4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data":(1)2}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<4096x262144xf32>, tensor<f32>) -> tensor<4096xf32>
  return %0, %y : tensor<4096xf32>, tensor<4096xf32>
}
