// Arguments and results get even, closed shardings, along whole axes where the user left them open.
// RUN: shardc opt %s --passes sdy-update-non-divisible-input-output-shardings | FileCheck %s --check-prefix=EVEN
// RUN: shardc opt %s --passes sdy-remove-sub-axes-in-input-output-shardings | FileCheck %s --check-prefix=WHOLE
// RUN: shardc opt %s --passes sdy-close-shardings | FileCheck %s --check-prefix=CLOSED

sdy.mesh @mesh = <["x"=4, "y"=2]>

// EVEN: func @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, ?}p0, {"y"}p1], replicated={"x":(2)2}>}) -> (tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x":(2)2, ?}]>})
// WHOLE: func @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}p0, {"y"}p1], replicated={"x":(2)2}>}) -> (tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x":(1)2}, {?}]>})
// CLOSED: func @main(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2}p0, {"y"}p1]>}) -> (tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x":(1)2}, {"x":(2)2}]>})
func.func @main(%a: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, ?}p0, {"y"}p1], replicated={"x":(2)2}>})
    -> (tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x":(1)2}, {"x":(2)2, ?}]>}) {
  // EVEN: call @f(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x":(1)2, ?}, {?}]>]>}
  %0 = call @f(%a) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : (tensor<6x8xf32>) -> tensor<6x8xf32>
  // Inside, shardings may be uneven. All results of an operation are closed.
  // EVEN: stablehlo.sine %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>}
  // CLOSED: stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>, <@mesh, [{}, {}]>]>}
  %1 = stablehlo.sine %0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>]>} : tensor<6x8xf32>
  %2:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x", ?}, {?}]>, <@mesh, [{?}, {}]>]>} %1, %1 : tensor<6x8xf32>, tensor<6x8xf32>
  return %2#0 : tensor<6x8xf32>
}

// WHOLE: func private @f(%arg0: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, ?}, {}]>})
func.func private @f(%a: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, ?}, {}]>}) -> tensor<6x8xf32> {
  return %a : tensor<6x8xf32>
}
