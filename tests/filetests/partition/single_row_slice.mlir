// One row of a sharded dimension: the device that has it contributes it to an all-reduce, the others contribute
// zeros. No other row is sent, and there is no all-gather that --strict would reject.
// RUN: shardc partition %s --strict --warn-bytes 0 -o %t.mlir --summary 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=SUM < %t.err

sdy.mesh @mesh = <["x"=8]>

// Row 5 of 19 rows in shards of 3 is the last of the second shard. Adding -0.0 changes no element, not even -0.0.
// CHECK-LABEL: func.func public @main
// CHECK-DAG: %[[ROW:.*]] = stablehlo.slice %arg0 [2:3, 0:65536]
// CHECK-DAG: %[[ONE:.*]] = stablehlo.constant dense<1> : tensor<i32>
// CHECK-DAG: %[[OWNS:.*]] = stablehlo.compare EQ, %{{.*}}, %[[ONE]]
// CHECK-DAG: %[[NOTHING:.*]] = stablehlo.constant dense<-0.000000e+00> : tensor<f32>
// CHECK-DAG: %[[ZERO:.*]] = stablehlo.broadcast_in_dim %[[NOTHING]], dims = []
// CHECK: %[[OWN:.*]] = stablehlo.select %[[OWNS]], %[[ROW]], %[[ZERO]]
// CHECK: "stablehlo.all_reduce"(%[[OWN]])
// CHECK-NOT: collective_permute
// CHECK-NOT: all_gather
// SUM: all_reduce 1 0 1 448.0 KiB
func.func public @main(%a: tensor<19x65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = stablehlo.slice %a [5:6, 0:65536] : (tensor<19x65536xf32>) -> tensor<1x65536xf32>
  %1 = stablehlo.reshape %0 : (tensor<1x65536xf32>) -> tensor<65536xf32>
  return %1 : tensor<65536xf32>
}
