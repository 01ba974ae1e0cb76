// An inner loop carries what the outer loop carries unchanged through a barrier, which XLA finds marked; among replicas nothing is.
// RUN: shardc partition %s --spmd-mode partition -o - | FileCheck %s
// RUN: shardc partition %s -o - | FileCheck %s --check-prefix=REPLICA --implicit-check-not=optimization_barrier

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func public @main(
// CHECK: stablehlo.while(%[[W:.*]] = %arg0,
// CHECK: %[[HELD:.*]] = stablehlo.optimization_barrier {mhlo.sharding = "{manual}"} %[[W]] : tensor<4x4xf32>
// CHECK: stablehlo.while(%{{.*}} = %[[HELD]],
// REPLICA: func.func public @main(
func.func public @main(%w: tensor<4x4xf32>, %x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x4xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%w1 = %w, %i = %zero, %x1 = %x) : tensor<4x4xf32>, tensor<i32>, tensor<8x4xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1:3 = stablehlo.while(%w2 = %w1, %j = %z, %x2 = %x1) : tensor<4x4xf32>, tensor<i32>, tensor<8x4xf32>
    cond {
      %n = stablehlo.constant dense<2> : tensor<i32>
      %2 = stablehlo.compare LT, %j, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    } do {
      %inner_one = stablehlo.constant dense<1> : tensor<i32>
      %2 = stablehlo.dot_general %x2, %w2, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
      %3 = stablehlo.add %j, %inner_one : tensor<i32>
      stablehlo.return %w2, %3, %2 : tensor<4x4xf32>, tensor<i32>, tensor<8x4xf32>
    }
    %2 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %w1, %2, %1#2 : tensor<4x4xf32>, tensor<i32>, tensor<8x4xf32>
  }
  return %0#2 : tensor<8x4xf32>
}
