// Equal layers are one node of the graph, and each collective names the nodes that produce and use its values.
// RUN: shardc explain %s --json - | FileCheck %s

sdy.mesh @mesh = <["data"=4, "model"=2]>

// The all-reduce of a layer is on the edge to the next layer, that of the last layer on the edge to the results.
// CHECK: "collectives": [
// CHECK: "runs": 1,
// CHECK: "edge": [
// CHECK-NEXT: 4,
// CHECK-NEXT: 3
// CHECK: "number": 2,
// CHECK: "edge": [
// CHECK-NEXT: 4,
// CHECK-NEXT: 1
// CHECK: "graph": {
// CHECK: "kind": "arguments",
// CHECK: "kind": "results",
// CHECK: "kind": "block",
// CHECK-NEXT: "name": "params['layers'][*]",
// CHECK-NEXT: "copies": 3,
// CHECK: "parent": 2,
// CHECK-NEXT: "kind": "operation",
// CHECK-NEXT: "name": "dot_general (params['layers'][*]['up'])",
// CHECK-NEXT: "copies": 3,
// CHECK: "name": "dot_general (params['layers'][*]['down'])",
// CHECK: "next": true,
// CHECK-NEXT: "values": 2,
func.func @main(%x: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %u0: tensor<32x96xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, jax.arg_info = "params['layers'][0]['up']"},
                %d0: tensor<96x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, jax.arg_info = "params['layers'][0]['down']"},
                %u1: tensor<32x96xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, jax.arg_info = "params['layers'][1]['up']"},
                %d1: tensor<96x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, jax.arg_info = "params['layers'][1]['down']"},
                %u2: tensor<32x96xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>, jax.arg_info = "params['layers'][2]['up']"},
                %d2: tensor<96x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>, jax.arg_info = "params['layers'][2]['down']"}) -> tensor<64x32xf32> {
  %h0 = stablehlo.dot_general %x, %u0, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x96xf32>) -> tensor<64x96xf32>
  %t0 = stablehlo.tanh %h0 : tensor<64x96xf32>
  %o0 = stablehlo.dot_general %t0, %d0, contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x32xf32>) -> tensor<64x32xf32>
  %h1 = stablehlo.dot_general %o0, %u1, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x96xf32>) -> tensor<64x96xf32>
  %t1 = stablehlo.tanh %h1 : tensor<64x96xf32>
  %o1 = stablehlo.dot_general %t1, %d1, contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x32xf32>) -> tensor<64x32xf32>
  %h2 = stablehlo.dot_general %o1, %u2, contracting_dims = [1] x [0] : (tensor<64x32xf32>, tensor<32x96xf32>) -> tensor<64x96xf32>
  %t2 = stablehlo.tanh %h2 : tensor<64x96xf32>
  %o2 = stablehlo.dot_general %t2, %d2, contracting_dims = [1] x [0] : (tensor<64x96xf32>, tensor<96x32xf32>) -> tensor<64x32xf32>
  return %o2 : tensor<64x32xf32>
}
