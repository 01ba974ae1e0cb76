// No axes describe a rotated order of devices.
// RUN: not shardc partition %s --manual-computation -o - 2>&1 | FileCheck %s

// CHECK: error[SH0514]: result 0 cannot cross the border of a manual computation: its mesh has another order of devices than that of the program
// CHECK: help: use one mesh for all shardings

sdy.mesh @mesh = <["x"=4], device_ids=[1, 2, 3, 0]>
sdy.mesh @other = <["a"=4]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@other, [{"a"}]>}) {
  return %x : tensor<8xf32>
}
