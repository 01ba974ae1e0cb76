// A row that is concatenated before other rows stays on its device, also if a reshape in between adds and removes
// dimensions of size one: no all-reduce, and no all-gather.
// RUN: shardc opt %s --passes propagate,plan | FileCheck %s

sdy.mesh @mesh = <["x"=8]>

// CHECK: stablehlo.slice %arg0 [0:1, 0:65536] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
// CHECK-NOT: sdy.reshard
// CHECK: return
func.func @main(%a: tensor<16x65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<17x65536xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.slice %a [0:1, 0:65536] : (tensor<16x65536xf32>) -> tensor<1x65536xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 2] : (tensor<1x65536xf32>) -> tensor<1x1x65536xf32>
  %2 = stablehlo.negate %1 : tensor<1x1x65536xf32>
  %3 = stablehlo.reshape %2 : (tensor<1x1x65536xf32>) -> tensor<1x65536xf32>
  %4 = stablehlo.concatenate %3, %a, dim = 0 : (tensor<1x65536xf32>, tensor<16x65536xf32>) -> tensor<17x65536xf32>
  return %4 : tensor<17x65536xf32>
}
