// Reshards that XLA's partitioner requires become explicit; other conflicts stay implicit.
// RUN: shardc opt %s --passes sdy-insert-explicit-reshards | FileCheck %s

sdy.mesh @mesh = <["x"=2, "y"=2]>
sdy.mesh @one = <[], device_ids=[0]>

// An unreduced value is reduced for each user that needs it.
// CHECK-LABEL: func @pending
func.func @pending(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x", "y"}>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: %[[A:.*]] = sdy.all_reduce {"y"} %arg0 out_sharding=<@mesh, [{}, {}], unreduced={"x"}>
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate %[[A]]
  // CHECK-NEXT: %[[B:.*]] = sdy.all_reduce {"x"} %[[N]] out_sharding=<@mesh, [{}, {}]>
  // CHECK-NEXT: return %[[B]]
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}], unreduced={"x"}>]>} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// A reshard makes pending what is split or the same on all devices.
// CHECK-LABEL: func @make_pending
func.func @make_pending(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"x", "y"}>}) {
  // CHECK-NEXT: %[[R:.*]] = sdy.replicated_to_unreduced {"y"} %arg0 out_sharding=<@mesh, [{"x"}, {}], unreduced={"y"}>
  // CHECK-NEXT: %[[S:.*]] = sdy.sharded_to_unreduced [{"x"}, {}] %[[R]] out_sharding=<@mesh, [{}, {}], unreduced={"x", "y"}>
  // CHECK-NEXT: return %[[S]]
  %0 = sdy.reshard %a <@mesh, [{}, {}], unreduced={"x", "y"}> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// The product is split along "y" too, and its smaller result is resharded.
// CHECK-LABEL: func @product
func.func @product(%a: tensor<4x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<32x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<4x8xf32> {
  // CHECK-NEXT: %[[D:.*]] = stablehlo.dot_general %arg0, %arg1, {{.*}}{sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"y"}]>]>}
  // CHECK-NEXT: %[[R:.*]] = sdy.reshard %[[D]] <@mesh, [{}, {"x"}]>
  // CHECK-NEXT: return %[[R]]
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x32xf32>, tensor<32x8xf32>) -> tensor<4x8xf32>
  return %0 : tensor<4x8xf32>
}

// Parts of a concatenation are resharded to what the largest tensors have.
// CHECK-LABEL: func @concatenate
func.func @concatenate(%a: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) -> tensor<8x8xf32> {
  // CHECK-NEXT: %[[R:.*]] = sdy.reshard %arg1 <@mesh, [{}, {"x"}]>
  // CHECK-NEXT: stablehlo.concatenate %arg0, %[[R]], dim = 0
  %0 = stablehlo.concatenate %a, %b, dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

// Arguments of calls are resharded right behind where they come from; other operations are left alone.
// CHECK-LABEL: func @calls
func.func @calls(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: %[[R:.*]] = sdy.reshard %arg0 <@mesh, [{"y"}]>
  // CHECK-NEXT: %[[N:.*]] = stablehlo.negate %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>}
  // CHECK-NEXT: call @f(%[[R]])
  %0 = stablehlo.negate %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>} : tensor<8xf32>
  %1 = call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>} : (tensor<8xf32>) -> tensor<8xf32>
  %2 = stablehlo.add %0, %1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>} : tensor<8xf32>
  return %2 : tensor<8xf32>
}
func.func private @f(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}

// Operands of an operation on a single device are first replicated.
// CHECK-LABEL: func @one_device
func.func @one_device(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK-NEXT: %[[W:.*]] = sdy.reshard %arg0 <@mesh, [{}]>
  // CHECK-NEXT: %[[O:.*]] = sdy.reshard %[[W]] <@one, []>
  // CHECK-NEXT: %[[C:.*]] = stablehlo.custom_call @f(%[[O]]) {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>}
  // CHECK-NEXT: %[[B:.*]] = sdy.reshard %[[C]] <@mesh, [{}]>
  // CHECK-NEXT: return %[[B]]
  %0 = stablehlo.custom_call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
