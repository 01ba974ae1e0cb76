// No device is fed an addend of an argument, nor returns one of a result.
// RUN: not shardc partition %s -o %t.mlir 2>&1 | FileCheck %s

// CHECK: error[SH0325]: argument 0 is unreduced along "x": each device would be fed an addend of it
// CHECK: help: annotate it without unreduced
// CHECK: error[SH0325]: result 0 is unreduced along "x": each device would return an addend of it
// CHECK: help: annotate it without unreduced: the sum is then completed before it is returned
// CHECK-NOT: bug in shardc
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>})
    -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
  %0 = sdy.sharding_constraint %a <@mesh, [{}], unreduced={"x"}> : tensor<16xf32>
  return %0 : tensor<16xf32>
}
