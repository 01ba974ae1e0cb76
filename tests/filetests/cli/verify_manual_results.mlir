// A result of a manual computation that differs along an axis that its sharding does not contain is an error in the program.
// RUN: not shardc verify %s 2>&1 | FileCheck %s
// RUN: not shardc run %s 2>&1 | FileCheck %s

// CHECK: error[SH0328]: result 0 of this sdy.manual_computation can differ between devices along the axis "b", which its out_sharding does not contain
// CHECK-NOT: bug in shardc
sdy.mesh @mesh = <["a"=2, "b"=2]>
func.func @main(%arg0: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {"b"}]>] out_shardings=[<@mesh, [{"a"}, {}]>] manual_axes={"a", "b"} (%x: tensor<4x4xf32>) {
    %c = stablehlo.concatenate %x, %x, dim = 1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    sdy.return %c : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
