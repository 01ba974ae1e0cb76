// Members of a group share a sharding; if annotations disagree, their users do too.
// RUN: shardc opt %s -split-input-file -sdy-basic-propagate -verify-diagnostics | FileCheck %s

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK: func.func @agree(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
func.func @agree(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}]>}) {
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  sdy.sharding_group %b group_id=0 : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK: func.func @disagree(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>})
// CHECK-DAG: sdy.sharding_constraint %arg0 <@mesh, [{"y", ?}]>
// CHECK-DAG: sdy.sharding_constraint %arg1 <@mesh, [{"y", ?}]>
// expected-warning@+1 {{SH0803: values of sharding group 0 have different shardings}}
func.func @disagree(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<8xf32> {
  sdy.sharding_group %a group_id=0 : tensor<8xf32>
  sdy.sharding_group %b group_id=0 : tensor<8xf32>
  // CHECK: stablehlo.add {{.*}}[{"y", ?}]
  %0 = stablehlo.add %a, %b : tensor<8xf32>
  return %0 : tensor<8xf32>
}
