// The reason why a value did not get an axis.
// RUN: shardc explain %s --all | FileCheck %s

// CHECK-DAG: "data" already shards dimension 1, as annotated
// CHECK-DAG: it is sharded along "model", as annotated
// CHECK-DAG: its annotation closes the dimension
// CHECK-DAG: its annotation makes it replicated along "data"
// CHECK-DAG: the propagation barrier blocks that direction
// CHECK-DAG: which has higher priority (p0 over p1)
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(
    %a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {?}]>},
    %taken: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"data"}]>},
    %other: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {?}]>},
    %closed: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
    %replicated: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}], replicated={"data"}>},
    %early: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}p0, {?}]>},
    %late: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"data"}p1]>})
    -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<4x2xf32>) {
  %0 = stablehlo.add %a, %taken : tensor<8x8xf32>
  %1 = stablehlo.add %a, %other : tensor<8x8xf32>
  %2 = stablehlo.add %a, %closed : tensor<8x8xf32>
  %3 = stablehlo.add %a, %replicated : tensor<8x8xf32>
  %4 = stablehlo.add %a, %a : tensor<8x8xf32>
  %5 = sdy.propagation_barrier %4 allowed_direction=BACKWARD : tensor<8x8xf32>
  %6 = stablehlo.dot_general %early, %late, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %0, %1, %2, %3, %5, %6 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>, tensor<4x2xf32>
}
