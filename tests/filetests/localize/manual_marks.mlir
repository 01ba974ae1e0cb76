// In partition mode every operation has the sharding {manual}, so that XLA's own partitioner does not change it.
// RUN: shardc opt %s --passes localize --spmd-mode partition | FileCheck %s
// RUN: shardc opt %s --passes localize | FileCheck %s --check-prefix=REPLICA --implicit-check-not=mhlo.sharding

sdy.mesh @mesh = <["a"=4]>

// REPLICA: stablehlo.negate
// CHECK: func.func @main(%arg0: tensor<2xf32> {mhlo.sharding = "{manual}"}) -> (tensor<2xf32> {mhlo.sharding = "{manual}"})
// CHECK-NEXT: stablehlo.negate %arg0 {mhlo.sharding = "{manual}"} : tensor<2xf32>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) {
  %0 = stablehlo.negate %x {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
