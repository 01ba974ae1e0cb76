// The sharding on a constraint operation is that of its result: the output of propagation parses.
// RUN: shardc opt %s | FileCheck %s

sdy.mesh @mesh = <["a"=2]>

// CHECK-LABEL: func.func @main
// CHECK: sdy.sharding_constraint %arg0 <@mesh, [{"a"}]> {sdy.propagation_edges
// CHECK: sdy.reshard %{{.*}} <@mesh, [{}]> {sdy.propagation_edges
// CHECK: sdy.all_slice [{"a"}] %{{.*}} out_sharding=<@mesh, [{"a"}]> {sdy.propagation_edges
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.sharding_constraint %x <@mesh, [{"a"}]> {sdy.propagation_edges = #sdy.propagation_edges<[{step-0 = [{"a" = result-0 -> [operand-0]}]}]>} : tensor<8xf32>
  %1 = sdy.reshard %0 <@mesh, [{}]> {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"a" = operand-0 -> [result-0]}]}]>} : tensor<8xf32>
  %2 = sdy.all_slice [{"a"}] %1 out_sharding=<@mesh, [{"a"}]> {sdy.propagation_edges = #sdy.propagation_edges<[{step-2 = [{"a" = result-0 -> [operand-0]}]}]>} : tensor<8xf32>
  return %2 : tensor<8xf32>
}
