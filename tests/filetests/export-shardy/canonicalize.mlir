// RUN: shardc opt %s --passes canonicalize | FileCheck %s
// RUN: shardc opt %s --passes 'canonicalize{enable-patterns=sdy-collective}' | FileCheck %s --check-prefix=COLLECTIVE
// Canonicalization patterns for collectives, reshards and manual computations.
sdy.mesh @mesh = <["x"=2, "y"=2, "z"=1]>

// An all-reduce of which each device keeps a slice becomes a reduce-scatter.
// CHECK-LABEL: func @scatter
func.func @scatter(%a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: %[[S:.*]] = sdy.reduce_scatter [{"x"}, {}] %arg0 out_sharding=<@mesh, [{"x"}, {}]>
  // CHECK-NEXT: %[[L:.*]] = sdy.all_slice [{}, {"y"}] %[[S]] out_sharding=<@mesh, [{"x"}, {"y"}]>
  // CHECK-NEXT: return %[[L]], %[[L]]
  %0 = sdy.all_reduce {"x"} %a out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %1 = sdy.all_slice [{"x"}, {"y"}] %0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  %2 = sdy.all_slice [{"x"}, {"y"}] %0 out_sharding=<@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}

// Not if the sum has another user.
// CHECK-LABEL: func @whole_sum
func.func @whole_sum(%a: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // CHECK-NEXT: sdy.all_reduce
  // CHECK-NEXT: sdy.all_slice
  %0 = sdy.all_reduce {"x"} %a out_sharding=<@mesh, [{}, {}]> : tensor<8x8xf32>
  %1 = sdy.all_slice [{"x"}, {}] %0 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}

// All-to-alls of different dimensions are merged.
// CHECK-LABEL: func @exchange
func.func @exchange(%a: tensor<8x8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}, {}, {}]>}) -> tensor<8x8x8x8xf32> {
  // CHECK-NEXT: %[[E:.*]] = sdy.all_to_all [{"x"}: 0->3, {"y"}: 1->2] %arg0 out_sharding=<@mesh, [{}, {}, {"y"}, {"x"}]>
  // CHECK-NEXT: return %[[E]]
  %0 = sdy.all_to_all [{"y"}: 1->2] %a out_sharding=<@mesh, [{"x"}, {}, {"y"}, {}]> : tensor<8x8x8x8xf32>
  %1 = sdy.all_to_all [{"x"}: 0->3] %0 out_sharding=<@mesh, [{}, {}, {"y"}, {"x"}]> : tensor<8x8x8x8xf32>
  return %1 : tensor<8x8x8x8xf32>
}

// A reshard that was already done on another shape is reused.
// CHECK-LABEL: func @again
// COLLECTIVE-LABEL: func @again
func.func @again(%a: tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  // CHECK-NEXT: %[[R:.*]] = sdy.reshard %arg0 <@mesh, [{"x"}, {}]>
  // CHECK-NEXT: %[[T:.*]] = stablehlo.transpose %[[R]], dims = [1, 0]
  // CHECK-NEXT: %[[V:.*]] = stablehlo.reshape %arg0
  // CHECK-NEXT: %[[S:.*]] = sdy.reshard %[[V]] <@mesh, [{}, {"x"}]>
  // CHECK-NEXT: return %[[R]], %[[T]], %[[S]]
  // COLLECTIVE-COUNT-3: sdy.reshard
  %0 = sdy.reshard %a <@mesh, [{"x"}, {}]> : tensor<8x4xf32>
  %1 = stablehlo.transpose %a, dims = [1, 0] : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %2 = sdy.reshard %1 <@mesh, [{}, {"x"}]> : tensor<4x8xf32>
  %3 = stablehlo.reshape %a : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %4 = sdy.reshard %3 <@mesh, [{}, {"x"}]> : tensor<4x8xf32>
  return %0, %2, %4 : tensor<8x4xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// A manual computation along axes of size one is inlined.
// CHECK-LABEL: func @manual
func.func @manual(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[M:.*]] = sdy.manual_computation(%arg1) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%arg2: tensor<4xf32>) {
  // CHECK-NEXT: sdy.return %arg2
  // CHECK-NEXT: }
  // CHECK-NEXT: %[[S:.*]] = stablehlo.sine %[[M]]
  // CHECK-NEXT: return %[[S]]
  %0 = sdy.manual_computation(%a, %b) in_shardings=[<@mesh, [{}]>, <@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%c: tensor<8xf32>, %d: tensor<4xf32>) {
    sdy.return %d : tensor<4xf32>
  } : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"z"}]>] out_shardings=[<@mesh, [{"z"}]>] manual_axes={"z"} (%c: tensor<8xf32>) {
    %2 = stablehlo.sine %c : tensor<8xf32>
    sdy.return %2 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// Dead pure operations are removed; constants come first, without duplicates.
// CHECK-LABEL: func @dead
func.func @dead(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[C:.*]] = stablehlo.constant dense<1.000000e+00>
  // CHECK-NEXT: %[[D:.*]] = stablehlo.add %arg0, %[[C]]
  // CHECK-NEXT: %[[E:.*]] = stablehlo.add %[[D]], %[[C]]
  // CHECK-NEXT: custom_call @effect
  // CHECK-NEXT: return %[[E]]
  %0 = stablehlo.sine %a : tensor<8xf32>
  %1 = stablehlo.constant dense<1.0> : tensor<8xf32>
  %2 = stablehlo.add %a, %1 : tensor<8xf32>
  %3 = stablehlo.constant dense<1.0> : tensor<8xf32>
  %4 = stablehlo.add %2, %3 : tensor<8xf32>
  %5 = stablehlo.custom_call @none(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %6 = stablehlo.custom_call @effect(%a) {has_side_effect = true} : (tensor<8xf32>) -> tensor<8xf32>
  return %4 : tensor<8xf32>
}
