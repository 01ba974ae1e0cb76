// A program that JAX lowered with symbolic dimensions, without an export: a parameter carries the size of the
// variable, and nothing relates the variable to argument shapes.
// RUN: shardc opt %s --dim b=8 --dim arg1.0=8 | FileCheck %s
// RUN: shardc verify %s --mesh d=4 --spec arg1=d,- --dim b=8 --dim arg1.0=8
// RUN: not shardc opt %s --dim b=8 2>&1 | FileCheck %s --check-prefix=MISSING
// RUN: not shardc opt %s --dim c=8 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not shardc opt %s --dim arg1.2=8 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not shardc opt %s --dim arg1.1=8 2>&1 | FileCheck %s --check-prefix=STATIC

// CHECK: func.func public @main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<8x4xf32>) -> tensor<8x4xf32>
// CHECK: stablehlo.constant dense<8.000000e+00> : tensor<f32>
// CHECK: stablehlo.broadcast_in_dim %{{.*}}, dims = [] : (tensor<f32>) -> tensor<8x4xf32>

// MISSING: error[SH0351]: no size is given for arg1.0
// MISSING: give sizes with --dim, as in arg1.0=64
// UNKNOWN: its symbolic dimensions are b
// RANK: error[SH0350]: arg1 has no dimension 2: it is tensor<?x4xf32>
// STATIC: error[SH0353]: dimension 1 of arg1 has size 4, not 8

func.func public @main(%arg0: tensor<i32> {jax.global_constant = "b"}, %arg1: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %0 = stablehlo.convert %arg0 : (tensor<i32>) -> tensor<f32>
  %1 = stablehlo.reshape %arg0 : (tensor<i32>) -> tensor<1xi32>
  %c = stablehlo.constant dense<4> : tensor<1xi32>
  %2 = stablehlo.concatenate %1, %c, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %3 = stablehlo.dynamic_broadcast_in_dim %0, %2, dims = [] : (tensor<f32>, tensor<2xi32>) -> tensor<?x4xf32>
  %4 = stablehlo.multiply %arg1, %3 : tensor<?x4xf32>
  return %4 : tensor<?x4xf32>
}
