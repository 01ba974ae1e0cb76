// The options of the propagation passes.
// RUN: shardc opt %s -sdy-basic-propagate | FileCheck %s --check-prefixes=BASIC
// RUN: shardc opt %s -sdy-basic-propagate='conservative-propagation=true' | FileCheck %s --check-prefixes=WHOLE
// RUN: shardc opt %s -sdy-aggressive-propagate='propagation-strategy=basic' | FileCheck %s --check-prefixes=BASIC
// RUN: shardc opt %s -sdy-aggressive-propagate='keep-sharding-rules' | FileCheck %s --check-prefixes=AGGRESSIVE,RULES
// RUN: shardc opt %s -sdy-op-priority-propagate='run-op-priority-propagation=false' | FileCheck %s --check-prefixes=AGGRESSIVE
// RUN: shardc opt %s -sdy-op-priority-propagate='propagation-strategy=basic-then-aggressive' | FileCheck %s --check-prefixes=AGGRESSIVE
// RUN: shardc opt %s -sdy-user-priority-propagate | FileCheck %s --check-prefixes=PRIORITY

sdy.mesh @mesh = <["x"=4, "y"=2]>

// Priorities stay where they are not obeyed.
// BASIC: %arg3: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}p1, {}]>}
// PRIORITY: %arg3: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %c: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
                %d: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}p1, {}]>},
                %e: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<2x4xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  // A conservative propagation does not part axes.
  // BASIC: stablehlo.reshape {{.*}}[{"x":(1)2, ?}, {"x":(2)2, ?}]
  // WHOLE: stablehlo.reshape %arg0 : (tensor<8xf32>)
  %0 = stablehlo.reshape %a : (tensor<8xf32>) -> tensor<2x4xf32>
  // Both factors want one axis; the earlier operand's goes first.
  // BASIC: stablehlo.dot_general %arg1, %arg2, contracting_dims = [1] x [0] : (
  // AGGRESSIVE: stablehlo.dot_general {{.*}}[{"x", ?}, {?}]
  // RULES-SAME: sdy.sharding_rule = #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=8, j=8, k=8} reduction={k}>
  %1 = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // PRIORITY: stablehlo.add {{.*}}[{"x", ?}, {?}]
  %2 = stablehlo.add %d, %e : tensor<8x8xf32>
  return %0, %1, %2 : tensor<2x4xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
