// The manifest records how arguments are sharded, and the device order.
// RUN: shardc partition %s -o %t.mlir --manifest - | FileCheck %s

sdy.mesh @mesh = <["data"=2, "model"=2]>

// CHECK: "num_devices": 4
// CHECK: "inputs": [
// CHECK: "local_shape": [
// CHECK-NEXT: 8,
// CHECK-NEXT: 3
func.func @main(%x: tensor<16x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<16x5xf32> {
  return %x : tensor<16x5xf32>
}
