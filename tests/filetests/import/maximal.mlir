// A value on one device is on a mesh of that device; in the partitioned program, all devices have it.
// RUN: shardc opt %s --passes import-gspmd | FileCheck %s
// RUN: shardc partition %s -o - 2>&1 | FileCheck %s --check-prefix=WARN

// CHECK: sdy.mesh @mesh = <["axis_0"=4]>
// CHECK: sdy.mesh @maximal_mesh_3 = <[], device_ids=[3]>
// CHECK: %arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@maximal_mesh_3, []>}
// WARN: warning[SH0311]: argument 0 of @main should be on device 3 only, but is replicated on every device
// WARN: help: every device runs the same program: replicate the value, or shard it along a mesh axis
// WARN: warning[SH0311]: the result of stablehlo.add should be on device 3 only, but is replicated on every device
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{maximal device=3}"}, %b: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  // CHECK: stablehlo.add {{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_3, []>]>}
  %0 = stablehlo.add %a, %b {mhlo.sharding = "{maximal device=3}"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
