// A result with a dynamic type is replicated, although the operands are static and sharded.
// RUN: shardc partition %s -o - 2>&1 | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @main(%arg0: tensor<1xf64>, %arg1: tensor<?x4xi32>, %arg2: tensor<i64>)
func.func @main(%a: tensor<2xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<?x4xi32>, %i: tensor<i64>)
    -> (tensor<?xf64>, tensor<2x4xi32>) {
  // CHECK: %[[WHOLE:.*]] = "stablehlo.all_gather"(%arg0)
  // CHECK: stablehlo.atan2 %[[WHOLE]], %[[WHOLE]] : (tensor<2xf64>, tensor<2xf64>) -> tensor<?xf64>
  %0 = stablehlo.atan2 %a, %a : (tensor<2xf64>, tensor<2xf64>) -> tensor<?xf64>
  // CHECK: stablehlo.dynamic_slice %arg1, %arg2, %arg2, sizes = [2, 4]
  %1 = stablehlo.dynamic_slice %b, %i, %i, sizes = [2, 4] : (tensor<?x4xi32>, tensor<i64>, tensor<i64>) -> tensor<2x4xi32>
  return %0, %1 : tensor<?xf64>, tensor<2x4xi32>
}
