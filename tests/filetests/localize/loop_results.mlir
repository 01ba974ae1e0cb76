// In partition mode a loop result gets a barrier if a user may be simplified to it: here a conversion to the same type.
// XLA would move that operation's `mhlo.sharding` to the loop. The counter has no such user, and gets no barrier.
// RUN: shardc opt %s --passes propagate,plan,lower-reshards,localize --spmd-mode partition | FileCheck %s
// RUN: shardc opt %s --passes propagate,plan,lower-reshards,localize | FileCheck %s --check-prefix=REPLICA --implicit-check-not=barrier

sdy.mesh @mesh = <["data"=4]>
func.func @main(%w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<8xf32> {
// REPLICA: stablehlo.convert
// CHECK: %[[OUTER:.*]]:2 = stablehlo.while
// CHECK: %[[LOOP:.*]]:2 = stablehlo.while
// CHECK: %[[BARRIER:.*]] = stablehlo.optimization_barrier {mhlo.sharding = "{manual}"} %[[LOOP]]#0
// CHECK-NEXT: stablehlo.convert %[[BARRIER]]
// CHECK-NOT: barrier
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %four = stablehlo.constant dense<4> : tensor<i32>
  %0:2 = stablehlo.while(%state = %x, %i = %zero) : tensor<8xf32>, tensor<i32>
  cond {
    %1 = stablehlo.compare LT, %i, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.sine %state : tensor<8xf32>
    %2:2 = stablehlo.while(%y = %1, %j = %zero) : tensor<8xf32>, tensor<i32>
    cond {
      %6 = stablehlo.compare LT, %j, %four, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %6 : tensor<i1>
    } do {
      %6 = stablehlo.dot_general %w, %y, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
      %7 = stablehlo.add %j, %one : tensor<i32>
      stablehlo.return %6, %7 : tensor<8xf32>, tensor<i32>
    }
    %3 = stablehlo.convert %2#0 : tensor<8xf32>
    %4 = stablehlo.cosine %3 : tensor<8xf32>
    %5 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %4, %5 : tensor<8xf32>, tensor<i32>
  }
  return %0#0 : tensor<8xf32>
}
