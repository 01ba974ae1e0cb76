// In partition mode a loop reads constant expressions through a barrier: XLA must not fold them, since the result
// would lose its {manual} sharding.
// RUN: shardc opt %s --passes propagate,plan,lower-reshards,localize --spmd-mode partition | FileCheck %s
// RUN: shardc opt %s --passes propagate,plan,lower-reshards,localize | FileCheck %s --check-prefix=REPLICA --implicit-check-not=barrier

sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8x4xf32> {
// REPLICA: stablehlo.while
// CHECK: %[[TABLE:.*]] = stablehlo.cosine
// CHECK: %[[SINE:.*]] = stablehlo.sine
// CHECK: %[[BEHIND:.*]] = stablehlo.optimization_barrier {{.*}}%[[TABLE]]
// CHECK: stablehlo.while({{.*}} = %[[BEHIND]],
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %count = stablehlo.iota dim = 0 : tensor<4xf32>
  %cosine = stablehlo.cosine %count : tensor<4xf32>
  %sine = stablehlo.sine %count : tensor<4xf32>
  %0:3 = stablehlo.while(%i = %zero, %table = %cosine, %state = %x) : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.add %table, %sine : tensor<4xf32>
    %3 = stablehlo.broadcast_in_dim %2, dims = [1] : (tensor<4xf32>) -> tensor<8x4xf32>
    %4 = stablehlo.multiply %state, %3 : tensor<8x4xf32>
    stablehlo.return %1, %table, %4 : tensor<i32>, tensor<4xf32>, tensor<8x4xf32>
  }
  return %0#2 : tensor<8x4xf32>
}
