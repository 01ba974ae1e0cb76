// Shardy's pipelines, end to end.
// RUN: shardc opt %s -sdy-propagation-pipeline | FileCheck %s
// RUN: shardc opt %s -sdy-propagation-pipeline='dedup-functions-fully=true' | FileCheck %s --check-prefix=ONE
// RUN: shardc opt %s -sdy-add-data-flow-edges -sdy-export-pipeline | FileCheck %s --check-prefix=EXPORT
// RUN: shardc opt %s -sdy-export-pipeline='avoid-export-for-partitioning=true' | FileCheck %s --check-prefix=AVOID

sdy.mesh @mesh = <["x"=2, "y"=2]>

// Calls that want the function in different ways get a copy each, or share one and reshard.
// CHECK-LABEL: func @main
// CHECK-NEXT: %[[A:.*]] = call @f(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
// CHECK-NEXT: %[[B:.*]] = call @f_0(%arg1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"y"}]>]>}
// CHECK: sdy.reshard
// CHECK: return
// CHECK: func private @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
// CHECK-NEXT: sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
// CHECK: func private @f_0(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>})

// ONE-COUNT-2: call @f(
// ONE-COUNT-1: func private

// EXPORT-NOT: sdy.mesh
// EXPORT: sdy.reshard %{{.*}} <mesh<["x"=2, "y"=2]>, [{"x"}]>
// EXPORT-NOT: sdy.sharding_group

// AVOID: sdy.mesh
// AVOID: sdy.sharding_constraint
// AVOID: sdy.sharding_group
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @f(%b) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{"x"}]> : tensor<8xf32>
  sdy.sharding_group %2 group_id=4 : tensor<8xf32>
  return %0, %2 : tensor<8xf32>, tensor<8xf32>
}
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.constant dense<2.0> : tensor<8xf32>
  %1 = stablehlo.multiply %a, %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
