// Comparisons of signed integers get an explicit type: XLA treats a comparison of two constants without one as
// unsigned, and 0 is then not greater than -4.
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s

// CHECK: stablehlo.compare GT, %{{.*}}, %{{.*}}, SIGNED : (tensor<2xi32>, tensor<2xi32>)
// CHECK: stablehlo.compare LT, %{{.*}}, %{{.*}} : (tensor<2xui32>, tensor<2xui32>)
// CHECK: stablehlo.compare LT, %{{.*}}, %{{.*}} : (tensor<2xf32>, tensor<2xf32>)
func.func @main(%u: tensor<2xui32>, %f: tensor<2xf32>) -> (tensor<2xi1>, tensor<2xi1>, tensor<2xi1>) {
  %zero = stablehlo.constant dense<0> : tensor<2xi32>
  %less = stablehlo.constant dense<-4> : tensor<2xi32>
  %0 = stablehlo.compare GT, %zero, %less : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
  %1 = stablehlo.compare LT, %u, %u : (tensor<2xui32>, tensor<2xui32>) -> tensor<2xi1>
  %2 = stablehlo.compare LT, %f, %f : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %0, %1, %2 : tensor<2xi1>, tensor<2xi1>, tensor<2xi1>
}
