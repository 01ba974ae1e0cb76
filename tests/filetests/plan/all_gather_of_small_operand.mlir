// A matmul contracts a sharded dimension only because one small operand is sharded: this is all-gathered, not the result all-reduced.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["x"=8]>

// CHECK-LABEL: func.func public @main(
// CHECK-SAME: %arg0: tensor<256x16xf32>, %arg1: tensor<128x2048xf32>
// CHECK: %[[X:.*]] = "stablehlo.all_gather"(%arg0) <{all_gather_dim = 1 : i64
// CHECK: stablehlo.dot_general %[[X]], %arg1{{.*}} -> tensor<256x2048xf32>
// CHECK-NOT: "stablehlo.all_reduce"
func.func public @main(%x: tensor<256x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %w: tensor<128x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> (tensor<256x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<256x128xf32>, tensor<128x2048xf32>) -> tensor<256x2048xf32>
  %1 = stablehlo.tanh %0 : tensor<256x2048xf32>
  return %1 : tensor<256x2048xf32>
}
