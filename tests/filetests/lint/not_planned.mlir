// A program that cannot be partitioned is linted as far as possible, and the skipped rules are reported.
// RUN: shardc lint %s | FileCheck %s

sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK: warning[SH0902]: axis "model"
// CHECK: note: the program cannot be partitioned: {{.*}} (SH0304); not checked: constraint-reshards, sharded-value-replicated, gather-for-operation
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<32x64xf32> {
  %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %1 : tensor<f32>
  }) : (tensor<32x64xf32>) -> tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}
