// If the only mesh is one named device, nothing is sharded: the plan is for one unnamed device.
// RUN: shardc opt %s --passes plan 2>/dev/null | FileCheck %s
// RUN: shardc opt %s --passes propagate,plan,lower-reshards,localize 2>/dev/null | FileCheck %s --check-prefix=LOCAL
// RUN: shardc partition %s -o - --manifest %t.json 2>&1 | FileCheck %s --check-prefix=LOCAL
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t.json

// CHECK: sdy.mesh @one_whole = <[]>
// CHECK: @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@one_whole, [{}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@one_whole, [{}]>})
// LOCAL: module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32}
// LOCAL: stablehlo.negate %arg0 : tensor<8xf32>
// MANIFEST: "num_devices": 1
// MANIFEST: "axes": []
// MANIFEST-NEXT: "device_ids": [
// MANIFEST-NEXT: 0
sdy.mesh @one = <[], device_ids=[3]>
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
