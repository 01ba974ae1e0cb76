// Batch normalization and its gradient: what devices exchange is sums for each feature, and padding counts for nothing.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<10x3x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}, %s: tensor<3xf32>, %o: tensor<3xf32>, %d: tensor<10x3x7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {"y"}]>}, %b: tensor<6x5xf16> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, %t: tensor<5xf16>) -> (tensor<10x3x7xf32>, tensor<3xf32>, tensor<3xf32>, tensor<10x3x7xf32>, tensor<3xf32>, tensor<3xf32>, tensor<10x3x7xf32>, tensor<6x5xf16>) {
  %0:3 = "stablehlo.batch_norm_training"(%a, %s, %o) <{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}> : (tensor<10x3x7xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<10x3x7xf32>, tensor<3xf32>, tensor<3xf32>)
  %1:3 = "stablehlo.batch_norm_grad"(%a, %s, %0#1, %0#2, %d) <{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}> : (tensor<10x3x7xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<10x3x7xf32>) -> (tensor<10x3x7xf32>, tensor<3xf32>, tensor<3xf32>)
  %2 = "stablehlo.batch_norm_inference"(%a, %s, %o, %0#1, %0#2) <{epsilon = 1.0e-03 : f32, feature_index = 1 : i64}> : (tensor<10x3x7xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<10x3x7xf32>
  %3:3 = "stablehlo.batch_norm_training"(%b, %t, %t) <{epsilon = 1.0e-01 : f32, feature_index = 1 : i64}> : (tensor<6x5xf16>, tensor<5xf16>, tensor<5xf16>) -> (tensor<6x5xf16>, tensor<5xf16>, tensor<5xf16>)
  return %0#0, %0#1, %0#2, %1#0, %1#1, %1#2, %2, %3#0 : tensor<10x3x7xf32>, tensor<3xf32>, tensor<3xf32>, tensor<10x3x7xf32>, tensor<3xf32>, tensor<3xf32>, tensor<10x3x7xf32>, tensor<6x5xf16>
}
