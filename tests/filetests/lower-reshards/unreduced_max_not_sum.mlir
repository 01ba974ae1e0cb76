// A value that is unreduced with maximum is not converted to an unreduced sum.
// RUN: not shardc opt %s --passes plan 2>&1 | FileCheck %s

sdy.mesh @mesh = <["a"=2]>

// CHECK: error[SH0218]: sdy.reshard changes an unreduced maximum to an unreduced sum
func.func @main(%x: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=max{"a"}>}) -> (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"a"}>}) {
  return %x : tensor<16xf32>
}
