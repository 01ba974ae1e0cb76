// Both operands of a matmul are sharded along the contracting dimension, as in the weight gradient of data
// parallelism: each device multiplies only its shards, and the result is all-reduced.
// RUN: shardc partition %s -o - | FileCheck %s --implicit-check-not=all_gather

sdy.mesh @mesh = <["x"=8]>

// CHECK-LABEL: func.func public @main(
// CHECK: %[[DW:.*]] = stablehlo.dot_general %arg0, %arg1{{.*}} (tensor<16x256xf32>, tensor<16x2048xf32>) -> tensor<256x2048xf32>
// CHECK: "stablehlo.all_reduce"(%[[DW]])
func.func public @main(%x: tensor<128x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %dy: tensor<128x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<256x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<128x256xf32>, tensor<128x2048xf32>) -> tensor<256x2048xf32>
  %1 = stablehlo.tanh %0 : tensor<256x2048xf32>
  return %1 : tensor<256x2048xf32>
}
