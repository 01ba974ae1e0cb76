// RUN: shardc opt %s --passes propagate | FileCheck %s

// Only values that the program places on a named device are there; they get no other mesh and no other sharding.

sdy.mesh @one = <[], device_ids=[0]>

// CHECK-LABEL: func.func @main
// CHECK-SAME:  %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) -> tensor<8x8xf32> {
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: stablehlo.add %arg0, %arg0 : tensor<8x8xf32>
  %0 = stablehlo.add %a, %a : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
