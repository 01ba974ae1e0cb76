// RUN: shardc partition %s --strict -o - | FileCheck %s

// A batch that is sharded along two axes all-reduces both sums per feature in one collective, and the gradient needs one more.

sdy.mesh @mesh = <["x"=2, "y"=2]>
// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<8x3x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}, %s: tensor<3xf32>, %o: tensor<3xf32>, %d: tensor<8x3x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}) -> (tensor<8x3x6xf32>, tensor<8x3x6xf32>, tensor<3xf32>, tensor<3xf32>) {
  // CHECK: stablehlo.constant dense<4.800000e+01> : tensor<3xf32>
  // CHECK: "stablehlo.all_reduce"(%{{.*}}, %{{.*}}, %{{.*}}) <{replica_groups = dense<{{.*}}[0, 1, 2, 3]
  // CHECK: (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
  // CHECK: "stablehlo.all_reduce"
  // CHECK-NOT: stablehlo.all_gather
  // CHECK-NOT: "stablehlo.all_reduce"
  %0:3 = "stablehlo.batch_norm_training"(%a, %s, %o) <{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}> : (tensor<8x3x6xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<8x3x6xf32>, tensor<3xf32>, tensor<3xf32>)
  %1:3 = "stablehlo.batch_norm_grad"(%a, %s, %0#1, %0#2, %d) <{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}> : (tensor<8x3x6xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<8x3x6xf32>) -> (tensor<8x3x6xf32>, tensor<3xf32>, tensor<3xf32>)
  return %0#0, %1#0, %1#1, %1#2 : tensor<8x3x6xf32>, tensor<8x3x6xf32>, tensor<3xf32>, tensor<3xf32>
}
