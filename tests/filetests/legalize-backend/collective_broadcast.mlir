// XLA's CPU and TPU compilers have no collective_broadcast: the first device of each group all-reduces its bits with zeros.
// RUN: shardc opt %s --passes legalize-backend{target=cpu} | FileCheck %s --implicit-check-not=collective_broadcast
// RUN: shardc opt %s --passes legalize-backend{target=tpu} | FileCheck %s --implicit-check-not=collective_broadcast
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --check-prefix=ANY

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  // CHECK-LABEL: func.func @main
  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    // Device 2 is in no group, and gets zeros.
    // CHECK: %[[PLACES:.*]] = stablehlo.constant dense<[1, 0, -1, 2]> : tensor<4xi32>
    // CHECK: stablehlo.replica_id
    // CHECK: %[[ROOT:.*]] = stablehlo.constant dense<0> : tensor<i32>
    // CHECK: %[[IS_ROOT:.*]] = stablehlo.compare EQ, %{{.*}}, %[[ROOT]]
    // CHECK: %[[BITS:.*]] = stablehlo.bitcast_convert %arg0 : (tensor<4xf32>) -> tensor<4xui32>
    // CHECK: stablehlo.select %[[IS_ROOT]], %[[BITS]]
    // CHECK: "stablehlo.all_reduce"{{.*}}dense<{{\[\[}}1, 0, 3], [2, -1, -1]]>
    // CHECK: stablehlo.bitcast_convert %{{.*}} : (tensor<4xui32>) -> tensor<4xf32>
    // ANY: "stablehlo.collective_broadcast"
    %0 = "stablehlo.collective_broadcast"(%arg0) <{replica_groups = dense<[[1, 0, 3]]> : tensor<1x3xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}
