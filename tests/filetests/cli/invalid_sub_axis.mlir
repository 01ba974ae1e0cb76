// RUN: not shardc partition %s -o %t.mlir --spec 'x=data:(4294967295)4294967295' 2>&1 | FileCheck %s
// --spec rejects a sub-axis that does not fit its axis.
// CHECK: error[SH0335]: data:(4294967295)4294967295 is not a sub-axis of an axis of size 2
sdy.mesh @mesh = <["data"=2]>
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
