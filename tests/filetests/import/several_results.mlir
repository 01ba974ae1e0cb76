// A tuple of shardings has one for each result; a single sharding applies to all.
// RUN: shardc opt %s --passes import-gspmd | FileCheck %s

// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<8x4xf32>, %b: tensor<8x4xi32>) -> (tensor<8x4xf32>, tensor<8x4xi32>) {
  // CHECK: "stablehlo.sort"
  // CHECK: }) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"axis_0"}, {}]>, <@mesh, [{"axis_0"}, {}]>]>}
  %0:2 = "stablehlo.sort"(%a, %b) <{dimension = 1 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %i: tensor<i32>, %j: tensor<i32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) {mhlo.sharding = "{devices=[2,1]<=[2]}"} : (tensor<8x4xf32>, tensor<8x4xi32>) -> (tensor<8x4xf32>, tensor<8x4xi32>)
  %n = stablehlo.constant dense<3> : tensor<i32>
  // CHECK: stablehlo.while
  // CHECK-SAME: attributes {sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, <@mesh, [{}, {"axis_0"}]>]>}
  %1:2 = stablehlo.while(%i = %n, %v = %0#0) : tensor<i32>, tensor<8x4xf32> attributes {mhlo.sharding = "{{replicated}, {devices=[1,2]<=[2]}}"}
  cond {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %c = stablehlo.compare GT, %i, %z : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %o = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.subtract %i, %o : tensor<i32>
    // CHECK: stablehlo.sine {{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"axis_0"}, {}]>]>}
    %w = stablehlo.sine %v {mhlo.sharding = "{devices=[2,1]<=[2]}"} : tensor<8x4xf32>
    stablehlo.return %j, %w : tensor<i32>, tensor<8x4xf32>
  }
  return %1#1, %0#1 : tensor<8x4xf32>, tensor<8x4xi32>
}
