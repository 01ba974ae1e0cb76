// RUN: not shardc opt %s --passes propagate,plan 2>&1 | FileCheck %s

// A program that all devices run has no values on one of them.

sdy.mesh @one = <[], device_ids=[0]>

// CHECK: error[SH0311]: argument 0 of @main is on device 0 only
// CHECK: error[SH0311]: the result of stablehlo.add is on device 0 only
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %a {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
