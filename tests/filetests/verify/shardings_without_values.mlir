// An extra sharding beyond the results is verified too.
// RUN: not shardc opt --passes dce %s -o %t.mlir 2>&1 | FileCheck %s

// CHECK: error[SH0212]: sharding 1 of sdy.manual_computation is not valid
sdy.mesh @mesh = <["a"=2]>
func.func @main(%arg0: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{}, {}]>, <@mesh, [{"a":(1)2}, {}]>] manual_axes={} (%arg1: tensor<4x4xf32>) {
    sdy.return %arg1 : tensor<4x4xf32>
  } : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %0 : tensor<4x4xf32>
}
