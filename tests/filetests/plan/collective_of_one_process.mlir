// A collective in a group of one process returns its operand; a permute without a sender returns zero.
// RUN: shardc opt %s --passes propagate,plan,lower-reshards | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @main
// CHECK-DAG: %[[ZERO:.*]] = stablehlo.constant {{.*}}dense<0.000000e+00> : tensor<8xf32>
// CHECK-DAG: %[[ID:.*]] = stablehlo.constant {{.*}}dense<0> : tensor<ui32>
// CHECK-DAG: %[[SUM:.*]] = stablehlo.sine %arg0
// CHECK: return %[[SUM]], %[[ZERO]], %[[ID]]
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>, tensor<8xf32>, tensor<ui32>) {
  %0 = "stablehlo.collective_broadcast"(%a) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.sine %0 : tensor<8xf32>
  %2 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<8xf32>) -> tensor<8xf32>
  %3 = stablehlo.partition_id : tensor<ui32>
  return %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<ui32>
}
