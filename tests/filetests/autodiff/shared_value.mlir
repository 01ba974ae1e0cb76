// The cotangents of several uses of a value are added once, after all of them exist; partitioned, this is one all-reduce.
// RUN: shardc grad %s --wrt w -o - | FileCheck %s
// RUN: shardc grad %s --wrt w -o - | shardc partition - -o - | FileCheck %s --check-prefix=DEVICE

// CHECK: %[[FIRST:.*]] = stablehlo.add
// CHECK-NEXT: %[[SUM:.*]] = stablehlo.add %[[FIRST]],
// CHECK-NEXT: return %[[SUM]]
// DEVICE: stablehlo.add
// DEVICE: %[[LOCAL:.*]] = stablehlo.add
// DEVICE-NEXT: %[[WHOLE:.*]] = "stablehlo.all_reduce"(%[[LOCAL]])
// DEVICE-NOT: all_reduce
// DEVICE: return %[[WHOLE]]
sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %a = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %t = stablehlo.tanh %a : tensor<16x8xf32>
  %b = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %u = stablehlo.tanh %b : tensor<16x8xf32>
  %c = stablehlo.dot_general %u, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %sum = stablehlo.reduce(%c init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
