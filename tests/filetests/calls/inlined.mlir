// Functions that must not be partitioned separately are inlined regardless of the budget: those with effects, those
// that depend on device ids, and all in programs with manual computations. A function with one call is also inlined.
// RUN: shardc partition %s -o - --inline-budget 1 2>/dev/null | FileCheck %s

// CHECK: func.func public @main
// CHECK-NOT: call @told
// CHECK-NOT: call @once
sdy.mesh @mesh = <["data"=4]>
func.func public @main(%x: tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<32xf32> {
  %0 = func.call @told(%x) : (tensor<32xf32>) -> tensor<32xf32>
  %1 = func.call @told(%0) : (tensor<32xf32>) -> tensor<32xf32>
  %2 = func.call @once(%1) : (tensor<32xf32>) -> tensor<32xf32>
  return %2 : tensor<32xf32>
}
func.func private @told(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = stablehlo.custom_call @host(%x) {has_side_effect = true} : (tensor<32xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
func.func private @once(%x: tensor<32xf32>) -> tensor<32xf32> {
  %0 = stablehlo.negate %x : tensor<32xf32>
  return %0 : tensor<32xf32>
}
