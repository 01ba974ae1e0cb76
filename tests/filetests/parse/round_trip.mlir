// Printed programs are parsed and printed unchanged.
// RUN: shardc opt %s -o %t.1.mlir
// RUN: shardc opt %t.1.mlir -o %t.2.mlir
// RUN: diff %t.1.mlir %t.2.mlir
// RUN: FileCheck %s < %t.2.mlir

// CHECK: sdy.mesh @mesh = <["x"=4]>
// CHECK: stablehlo.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
// CHECK: "stablehlo.sort"
// CHECK: sdy.sharding_constraint %{{.*}} <@mesh, [{"x":(2)2, ?}]>
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
  %c = stablehlo.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = "stablehlo.sort"(%c) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<2xf32>) -> tensor<2xf32>
  %2 = sdy.sharding_constraint %0 <@mesh, [{"x":(2)2, ?}]> : tensor<2xf32>
  return %2 : tensor<2xf32>
}
