// Ten rows on four devices: shards of three rows, where the last rows are unspecified padding. A sum masks it first:
// a row index in the shard, plus the shard's offset, must be less than ten.
// RUN: shardc partition %s -o - | FileCheck %s

// CHECK: func.func @main(%arg0: tensor<3x8xf32>) -> tensor<8xf32> {
// CHECK-DAG: %[[EXP:.*]] = stablehlo.exponential %arg0 : tensor<3x8xf32>
// CHECK-DAG: %[[ROW:.*]] = stablehlo.iota dim = 0 : tensor<3x8xi32>
// CHECK: %[[THREE:.*]] = stablehlo.constant dense<3> : tensor<i32>
// CHECK-NEXT: stablehlo.multiply %{{.*}}, %[[THREE]] : tensor<i32>
// CHECK: %[[TEN:.*]] = stablehlo.constant dense<10> : tensor<3x8xi32>
// CHECK-NEXT: %[[REAL:.*]] = stablehlo.compare LT, %{{.*}}, %[[TEN]], SIGNED
// CHECK: %[[MASKED:.*]] = stablehlo.select %[[REAL]], %[[EXP]], %{{.*}} : tensor<3x8xi1>, tensor<3x8xf32>
// CHECK-NEXT: stablehlo.reduce(%[[MASKED]] init:
// CHECK-NEXT: "stablehlo.all_reduce"
sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<10x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %x : tensor<10x8xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<10x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
