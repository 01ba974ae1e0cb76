// A composite with effects cannot be partitioned separately.
// RUN: not shardc partition %s --keep-composite my.print -o %t 2>&1 | FileCheck %s

// CHECK: error[SH0360]: stablehlo.composite {{.*}}must be inlined: @print has side effects
// CHECK: remove the sharding rule of the function, and the option that keeps its calls
sdy.mesh @mesh = <["data"=4]>
func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.composite "my.print" %x {decomposition = @print} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @print(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @printf(%x) {has_side_effect = true} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
