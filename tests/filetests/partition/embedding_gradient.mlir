// The gradient of an embedding with sharded tokens: each device adds the rows of its tokens. Only one device starts
// from the initial value, the others from zero.
// RUN: shardc partition %s -o - | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<4x1xi32>, %arg2: tensor<4x8xf32>) -> tensor<4x8xf32> {
// CHECK: %[[FIRST:.*]] = stablehlo.compare EQ, {{.*}} -> tensor<i1>
// CHECK: %[[INIT:.*]] = stablehlo.select %[[FIRST]], %arg0, %{{.*}} : tensor<i1>, tensor<4x8xf32>
// CHECK-NEXT: %[[OWN:.*]] = "stablehlo.scatter"(%[[INIT]], %arg1, %arg2)
// CHECK: "stablehlo.all_reduce"(%[[OWN]]) <{replica_groups = dense<{{\[}}[0, 1, 2, 3]]>
sdy.mesh @mesh = <["data"=4]>
func.func @main(%zeros: tensor<4x8xf32>, %ids: tensor<16x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %dy: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<4x8xf32> {
  %0 = "stablehlo.scatter"(%zeros, %ids, %dy) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %1 = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<4x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}
