// A reshard cannot make a pending sum of a whole value.
// RUN: not shardc opt %s --passes lower-reshards 2>&1 | FileCheck %s

sdy.mesh @mesh = <["a"=2]>

// CHECK: error[SH0402]: no way from sharding [{}] to [{}], unreduced={"a"}
// CHECK: = help: only an operation over the axis makes a pending sum
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> tensor<8xf32> {
  %0 = sdy.reshard %x <@mesh, [{}], unreduced={"a"}> : tensor<8xf32>
  return %0 : tensor<8xf32>
}
