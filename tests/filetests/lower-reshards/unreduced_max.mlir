// A value that is unreduced with maximum is completed by a maximum, never by a sum.
// RUN: shardc opt %s --passes lower-reshards | FileCheck %s

sdy.mesh @mesh = <["a"=2]>

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %[[MAX:.*]] = sdy.all_reduce max {"a"} %arg0 out_sharding=<@mesh, [{}, {}]> : tensor<16x16xf32>
// CHECK-NEXT: %[[BLOCK:.*]] = sdy.reduce_scatter min [{}, {"a"}] %arg1 out_sharding=<@mesh, [{}, {"a"}]> : tensor<16x16xf32>
// CHECK-NEXT: return %[[MAX]], %[[BLOCK]]
func.func @main(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced=max{"a"}>}, %y: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced=min{"a"}>}) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
  %1 = sdy.reshard %x <@mesh, [{}, {}]> : tensor<16x16xf32>
  %2 = sdy.reshard %y <@mesh, [{}, {"a"}]> : tensor<16x16xf32>
  return %1, %2 : tensor<16x16xf32>, tensor<16x16xf32>
}
