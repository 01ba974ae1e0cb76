// A program that contains collectives between processes is not for one device: rejected with a hint.
// RUN: not shardc opt %s --split-input-file --passes propagate,plan 2>&1 | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK: error[SH0304]: stablehlo.all_gather between several devices is not supported outside of a manual computation
// CHECK: = help: put per-device code into an sdy.manual_computation
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<32xf32> {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<8xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}

// -----

// CHECK: error[SH0304]: stablehlo.partition_id in a program for 4 partitions is not supported outside of a manual computation
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32>, tensor<ui32>) {
    %0 = stablehlo.partition_id : tensor<ui32>
    return %a, %0 : tensor<8xf32>, tensor<ui32>
  }
}

// -----

// CHECK: error[SH0304]: stablehlo.all_reduce in a program for 2 replicas is not supported outside of a manual computation
// CHECK: = help: partition a program for one replica: replace the replicas by a mesh axis
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 2 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
    %0 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %1 = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
