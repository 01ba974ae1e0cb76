// Batch normalization is expanded before a comparison in exact arithmetic: its formulas differ by identities of roots.
// RUN: shardc verify %s --exact | FileCheck %s
// CHECK: ok: 4 of 4 outputs

sdy.mesh @mesh = <["data"=2]>
func.func @main(%x: tensor<6x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %s: tensor<4xf32>, %o: tensor<4xf32>, %g: tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %y, %mean, %var = "stablehlo.batch_norm_training"(%x, %s, %o) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %dx, %ds, %do = "stablehlo.batch_norm_grad"(%x, %s, %mean, %var, %g) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<6x4xf32>) -> (tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return %y, %dx, %ds, %do : tensor<6x4xf32>, tensor<6x4xf32>, tensor<4xf32>, tensor<4xf32>
}
