// A JAX export with symbolic dimensions: shapes follow from the sizes of variables, through the wrapper that checks them.
// RUN: shardc opt %s --dim b=8 | FileCheck %s
// RUN: shardc opt %s --dim x.0=8 | FileCheck %s
// RUN: shardc verify %s --mesh d=4 --spec x=d,- --dim b=8
// RUN: shardc partition %s --mesh d=4 --spec x=d,- --dim b=8 -o - | FileCheck %s --check-prefix=PART
// RUN: not shardc opt %s --dim batch=8 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not shardc opt %s --dim b=0 2>&1 | FileCheck %s --check-prefix=FAILS
// RUN: not shardc opt %s --dim b=8 --dim y.0=5 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not shardc opt %s --dim y.0=4 2>&1 | FileCheck %s --check-prefix=ODD
// RUN: not shardc partition %s --mesh d=4 --spec arg0=d,- -o - 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not shardc opt %s --dim b=many 2>&1 | FileCheck %s --check-prefix=NUMBER

// CHECK-LABEL: func.func public @main
// CHECK-SAME: (%arg0: tensor<8x4xf32> loc({{.*}}), %arg1: tensor<4xf32> loc({{.*}})) -> tensor<4x4xf32>
// CHECK-NOT: custom_call
// CHECK: %[[WIDE:.*]] = stablehlo.broadcast_in_dim %arg1, dims = [0] : (tensor<4xf32>) -> tensor<4x4xf32>
// CHECK: %[[THREE:.*]] = stablehlo.reshape %arg0 : (tensor<8x4xf32>) -> tensor<4x2x4xf32>
// CHECK: stablehlo.reduce(%[[THREE]] init
// CHECK-NOT: func.func

// PART: func.func public @main(%arg0: tensor<2x4xf32>

// UNKNOWN: error[SH0350]: the program has no symbolic dimension 'batch'
// UNKNOWN: its symbolic dimensions are b
// FAILS: error[SH0352]: Expected value >= 1 for dimension variable 'b', found 0. Using the following
// TWICE: error[SH0353]: dimension 0 of y has two sizes: 5, and 4 according to its symbolic shape
// ODD: error[SH0351]: no size is given for b
// NONE: error[SH0315]
// NONE: give the dimension a size with --dim
// NUMBER: error[SH0350]: 'many' is not a number of elements

module @jit_f {
  func.func public @main(%arg0: tensor<?x4xf32> loc(unknown), %arg1: tensor<?xf32> loc(unknown)) -> tensor<?x4xf32> {
    %c = stablehlo.constant dense<2> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.get_dimension_size %arg0, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %1 = call @floor_divide(%0, %c) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %2 = stablehlo.divide %1, %c : tensor<i32>
    %3 = stablehlo.compare GE, %1, %c_0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%3, %1) {api_version = 2 : i32, error_message = "Expected value >= 1 for dimension variable 'b', found {0}. Using the following polymorphic shapes specifications: args[0].shape = (b, 4),args[1].shape = (floordiv(b, 2),). Obtained dimension variables: 'b' = {0}.", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %4 = call @_wrapped_jax_export_main(%0, %arg0, %arg1) : (tensor<i32>, tensor<?x4xf32>, tensor<?xf32>) -> tensor<?x4xf32>
    return %4 : tensor<?x4xf32>
  }
  func.func private @_wrapped_jax_export_main(%arg0: tensor<i32> {jax.global_constant = "b"} loc(unknown), %arg1: tensor<?x4xf32> loc("x"), %arg2: tensor<?xf32> loc("y")) -> tensor<?x4xf32> {
    %cst = stablehlo.constant dense<0.0> : tensor<f32>
    %c = stablehlo.constant dense<2> : tensor<i32>
    %c_0 = stablehlo.constant dense<[2, 4]> : tensor<2xi32>
    %c_1 = stablehlo.constant dense<4> : tensor<1xi32>
    %0 = call @floor_divide(%arg0, %c) : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %1 = stablehlo.reshape %0 : (tensor<i32>) -> tensor<1xi32>
    %2 = stablehlo.concatenate %1, %c_1, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %3 = stablehlo.dynamic_broadcast_in_dim %arg2, %2, dims = [0] : (tensor<?xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %4 = stablehlo.concatenate %1, %c_0, dim = 0 : (tensor<1xi32>, tensor<2xi32>) -> tensor<3xi32>
    %5 = stablehlo.dynamic_reshape %arg1, %4 : (tensor<?x4xf32>, tensor<3xi32>) -> tensor<?x2x4xf32>
    %6 = stablehlo.reduce(%5 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<?x2x4xf32>, tensor<f32>) -> tensor<?x4xf32>
    %7 = stablehlo.add %6, %3 : tensor<?x4xf32>
    return %7 : tensor<?x4xf32>
  }
  func.func private @floor_divide(%arg0: tensor<i32>, %arg1: tensor<i32>) -> tensor<i32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<1> : tensor<i32>
    %0 = stablehlo.divide %arg0, %arg1 : tensor<i32>
    %1 = stablehlo.sign %arg0 : tensor<i32>
    %2 = stablehlo.sign %arg1 : tensor<i32>
    %3 = stablehlo.compare NE, %1, %2, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %4 = stablehlo.remainder %arg0, %arg1 : tensor<i32>
    %5 = stablehlo.compare NE, %4, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %6 = stablehlo.and %3, %5 : tensor<i1>
    %7 = stablehlo.subtract %0, %c_0 : tensor<i32>
    %8 = stablehlo.select %6, %7, %0 : tensor<i1>, tensor<i32>
    return %8 : tensor<i32>
  }
}
