// Each sum needs the shards of most devices: with so many devices, they are all-gathered.
// RUN: shardc opt %s --passes propagate,plan -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN < %t.err

sdy.mesh @mesh = <["x"=64]>

// CHECK: %[[WHOLE:.*]] = sdy.reshard %arg0 <@mesh, [{}]>
// CHECK: "stablehlo.reduce_window"(%[[WHOLE]]
// WARN: warning[SH0310]: stablehlo.reduce_window needs dimension 0 of operand 0 replicated, so the operand is all-gathered: tensor<64xf32>, sharded [{"x"}], 256 B
// WARN: help: the windows span so many shards that an all-gather is cheaper
func.func @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce_window"(%a, %zero) <{padding = dense<[[40, 23]]> : tensor<1x2xi64>, window_dimensions = array<i64: 64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %s = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<64xf32>, tensor<f32>) -> tensor<64xf32>
  return %0 : tensor<64xf32>
}
