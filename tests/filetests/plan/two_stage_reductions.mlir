// A reduction without a corresponding collective has two steps: of each shard, and of the all-gathered results.
// RUN: shardc opt %s --passes propagate,plan -split-input-file -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN --allow-empty < %t.err

// WARN-NOT: warning

sdy.mesh @mesh = <["x"=4]>

// The largest of each row and where it is: 26 elements are four blocks of seven.
// CHECK-LABEL: func.func @main(%arg0: tensor<6x26xf32>
// CHECK: %[[PAD:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [0, 0], high = [0, 2]
// CHECK-SAME: sharding_per_value<[<@mesh, [{}, {"x"}]>]>
// CHECK: %[[BLOCKS:.*]] = stablehlo.reshape %[[PAD]] {{.*}} -> tensor<6x4x7xf32>
// CHECK: %[[EACH:.*]]:2 = stablehlo.reduce(%[[BLOCKS]] init: {{.*}} across dimensions = [2]
// CHECK: %[[MOST:.*]] = sdy.reshard %[[EACH]]#0 <@mesh, [{}, {}]>
// CHECK: %[[PLACE:.*]] = sdy.reshard %[[EACH]]#1 <@mesh, [{}, {}]>
// CHECK: stablehlo.reduce(%[[MOST]] init: {{.*}}), (%[[PLACE]] init: {{.*}}) across dimensions = [1] {{.*}} : (tensor<6x4xf32>, tensor<6x4xi32>,
func.func @main(%a: tensor<6x26xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<6xf32>, tensor<6xi32>) {
  %low = stablehlo.constant dense<0xFF800000> : tensor<f32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %index = stablehlo.iota dim = 1 : tensor<6x26xi32>
  %0:2 = stablehlo.reduce(%a init: %low), (%index init: %zero) across dimensions = [1] : (tensor<6x26xf32>, tensor<6x26xi32>, tensor<f32>, tensor<i32>) -> (tensor<6xf32>, tensor<6xi32>)
   reducer(%l: tensor<f32>, %r: tensor<f32>) (%i: tensor<i32>, %j: tensor<i32>) {
    %ge = stablehlo.compare GE, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %v = stablehlo.select %ge, %l, %r : tensor<i1>, tensor<f32>
    %w = stablehlo.select %ge, %i, %j : tensor<i1>, tensor<i32>
    stablehlo.return %v, %w : tensor<f32>, tensor<i32>
  }
  return %0#0, %0#1 : tensor<6xf32>, tensor<6xi32>
}

// -----

sdy.mesh @mesh = <["x"=4]>

// The three largest of each block, and of these; where they were is looked up.
// CHECK-LABEL: func.func @main(%arg0: tensor<6x64xf32>
// CHECK: stablehlo.reshape %arg0 {{.*}} -> tensor<6x4x16xf32>
// CHECK: chlo.top_k(%{{.*}}, k = 3) {{.*}} tensor<6x4x16xf32> -> (tensor<6x4x3xf32>, tensor<6x4x3xi32>)
// CHECK-COUNT-2: sdy.reshard %{{.*}} <@mesh, [{}, {}]> : tensor<6x12x
// CHECK: %{{.*}}, %[[WHICH:.*]] = chlo.top_k(%{{.*}}, k = 3) {{.*}} tensor<6x12xf32>
// CHECK: "stablehlo.gather"(%{{.*}}, %[[WHICH]])
func.func @main(%a: tensor<6x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<6x3xf32>, tensor<6x3xi32>) {
  %0:2 = chlo.top_k(%a, k = 3) : tensor<6x64xf32> -> (tensor<6x3xf32>, tensor<6x3xi32>)
  return %0#0, %0#1 : tensor<6x3xf32>, tensor<6x3xi32>
}
