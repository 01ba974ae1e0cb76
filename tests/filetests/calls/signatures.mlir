// A function is partitioned once for each set of shardings of its calls; three calls with two sets give two functions.
// RUN: shardc partition %s -o - --inline-budget 1 | FileCheck %s
// In partition mode, each collective has a unique channel, also across functions.
// RUN: shardc partition %s -o - --inline-budget 1 --spmd-mode partition | FileCheck %s --check-prefix=CHANNELS

// CHECK: func.func public @main
// CHECK: call @normalize(%{{.*}}) : (tensor<8x64xf32>) -> tensor<8x64xf32>
// CHECK: call @normalize(%{{.*}}) : (tensor<8x64xf32>) -> tensor<8x64xf32>
// CHECK: call @normalize_0(%{{.*}}) : (tensor<32x32xf32>) -> tensor<32x32xf32>
// CHECK: func.func private @normalize(%arg0: tensor<8x64xf32>) -> tensor<8x64xf32> {
// CHECK: all_reduce{{.*}}[0, 2, 4, 6], [1, 3, 5, 7]
// CHECK: func.func private @normalize_0(%arg0: tensor<32x32xf32>) -> tensor<32x32xf32> {
// CHECK: all_reduce{{.*}}[0, 1], [2, 3], [4, 5], [6, 7]
// CHECK-NOT: func.func
// CHANNELS: func.func private @normalize(
// CHANNELS: all_reduce{{.*}}channel_handle<handle = 1,
// CHANNELS: func.func private @normalize_0(
// CHANNELS: all_reduce{{.*}}channel_handle<handle = 2,
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func public @main(
    %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %y: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>})
    -> (tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
        tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) {
  %0 = func.call @normalize(%x) : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %1 = func.call @normalize(%0) : (tensor<32x64xf32>) -> tensor<32x64xf32>
  %2 = func.call @normalize(%y) : (tensor<32x64xf32>) -> tensor<32x64xf32>
  return %1, %2 : tensor<32x64xf32>, tensor<32x64xf32>
}
func.func private @normalize(%x: tensor<32x64xf32>) -> tensor<32x64xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<32xf32>
  %1 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<32x64xf32>, tensor<f32>) -> tensor<64xf32>
  %2 = stablehlo.broadcast_in_dim %0, dims = [0] : (tensor<32xf32>) -> tensor<32x64xf32>
  %3 = stablehlo.broadcast_in_dim %1, dims = [1] : (tensor<64xf32>) -> tensor<32x64xf32>
  %4 = stablehlo.add %2, %3 : tensor<32x64xf32>
  %5 = stablehlo.divide %x, %4 : tensor<32x64xf32>
  return %5 : tensor<32x64xf32>
}
