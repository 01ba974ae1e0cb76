// Data-flow edges connect values inside and outside of regions.
// RUN: shardc opt %s -split-input-file -sdy-basic-propagate | FileCheck %s

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func.func @with_an_edge
// CHECK-SAME: %arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}]>}
func.func @with_an_edge(%a: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  // CHECK: stablehlo.while
  // CHECK: stablehlo.tanh {{.*}}<@mesh, [{"x"}]>
  %w:2 = stablehlo.while(%v = %a, %n = %i) : tensor<8xf32>, tensor<i32>
  cond {
    %c = stablehlo.compare LT, %n, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %t = stablehlo.tanh %v {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
    stablehlo.return %t, %n : tensor<8xf32>, tensor<i32>
  }
  // CHECK: sdy.data_flow_edge %{{.*}} sharding=<@mesh, [{"x", ?}]>
  %e = sdy.data_flow_edge %w#0 : tensor<8xf32>
  // CHECK-NEXT: return
  return %e : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func.func @without
// CHECK-SAME: %arg1: tensor<i32>) -> tensor<8xf32> {
func.func @without(%a: tensor<8xf32>, %i: tensor<i32>) -> tensor<8xf32> {
  %w = "stablehlo.case"(%i) ({
    // CHECK: stablehlo.tanh {{.*}}<@mesh, [{"x"}]>
    %t = stablehlo.tanh %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<8xf32>
    stablehlo.return %t : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  // CHECK: stablehlo.negate %{{.*}} : tensor<8xf32>
  %0 = stablehlo.negate %w : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>

// Inside, the manual axis is gone; free axes go in and out.
// CHECK-LABEL: func.func @manual
// CHECK-SAME: -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y", ?}, {?}]>})
func.func @manual(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x", ?}, {?}]>] out_shardings=[<@mesh, [{"x", ?}, {?}]>] manual_axes={"x"} (%b: tensor<4x8xf32>) {
    // CHECK: sdy.data_flow_edge %{{.*}} sharding=<@mesh, [{"y", ?}, {?}]>
    %e = sdy.data_flow_edge %b sharding=<@mesh, [{?}, {?}]> : tensor<4x8xf32>
    // CHECK: stablehlo.tanh {{.*}}<@mesh, [{"y", ?}, {?}]>
    %t = stablehlo.tanh %e : tensor<4x8xf32>
    sdy.return %t : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: sdy.data_flow_edge %{{.*}} sharding=<@mesh, [{"x", "y", ?}, {?}]>
  %e = sdy.data_flow_edge %0 sharding=<@mesh, [{"x", ?}, {?}]> : tensor<8x8xf32>
  return %e : tensor<8x8xf32>
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func.func @named
func.func @named(%a: tensor<8xf32>) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  // No edge stands behind the argument: its sharding is held by the computation.
  // CHECK: sdy.named_computation<"f">(%arg0) in_shardings=[<@mesh, [{"y", ?}]>] (
  %0 = sdy.named_computation<"f">(%a) (%b: tensor<8xf32>) {
    %t = stablehlo.tanh %b : tensor<8xf32>
    sdy.return %t : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: sdy.data_flow_edge %{{.*}} sharding=<@mesh, [{"y", ?}]>
  %e = sdy.data_flow_edge %0 : tensor<8xf32>
  return %e : tensor<8xf32>
}
