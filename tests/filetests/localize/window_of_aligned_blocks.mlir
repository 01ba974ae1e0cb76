// Every second element of an evenly sharded dimension is local.
// RUN: shardc opt %s --passes propagate,plan,localize,dce | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK: %[[HALF:.*]] = stablehlo.slice %arg0 [1:4:2] : (tensor<4xf32>) -> tensor<2xf32>
// CHECK-NEXT: return %[[HALF]]
func.func @main(%a: tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.slice %a [1:16:2] : (tensor<16xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
