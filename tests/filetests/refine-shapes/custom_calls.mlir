// Custom calls with shape operands: StableHLO's dynamic operations, and calls that name their shape operands.
// RUN: shardc opt %s --dim x.0=8 | FileCheck %s
// RUN: shardc verify %s --mesh d=4 --spec x=d,- --dim x.0=8

// CHECK-LABEL: func.func public @main
// CHECK: "stablehlo.reduce_window"(%arg0
// CHECK-SAME: padding = dense<{{\[\[}}7, 0], [0, 0]]> : tensor<2x2xi64>
// CHECK: (tensor<8x4xf32>, tensor<f32>) -> tensor<8x4xf32>
// CHECK: stablehlo.rng_bit_generator %arg1, algorithm = DEFAULT : (tensor<2xui64>) -> (tensor<2xui64>, tensor<8x4xui32>)
// CHECK: chlo.top_k(%arg0, k = 2) : tensor<8x4xf32> -> (tensor<8x2xf32>, tensor<8x2xi32>)
// CHECK: stablehlo.custom_call @Sharding(%arg0) {mhlo.sharding = "{replicated}"} : (tensor<8x4xf32>) -> tensor<8x4xf32>

func.func public @main(%x: tensor<?x4xf32>, %state: tensor<2xui64>) -> (tensor<?x4xf32>, tensor<?x4xui32>, tensor<?x2xf32>, tensor<?x4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %ones = stablehlo.constant dense<1> : tensor<2xi32>
  %one = stablehlo.constant dense<1> : tensor<1xi32>
  %minus = stablehlo.constant dense<-1> : tensor<i32>
  %none = stablehlo.constant dense<0> : tensor<1xi32>
  %nones = stablehlo.constant dense<0> : tensor<1x2xi32>
  %four = stablehlo.constant dense<4> : tensor<1xi32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %n = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
  %n1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %window = stablehlo.concatenate %n1, %one, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %less = stablehlo.add %n, %minus : tensor<i32>
  %less1 = stablehlo.reshape %less : (tensor<i32>) -> tensor<1xi32>
  %pad = stablehlo.concatenate %less1, %none, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %pad1 = stablehlo.reshape %pad : (tensor<2xi32>) -> tensor<1x2xi32>
  %pads = stablehlo.concatenate %pad1, %nones, dim = 0 : (tensor<1x2xi32>, tensor<1x2xi32>) -> tensor<2x2xi32>
  %0 = stablehlo.custom_call @stablehlo.dynamic_reduce_window(%x, %zero, %window, %ones, %ones, %ones, %pads) {api_version = 2 : i32, called_computations = [@add]} : (tensor<?x4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>, tensor<2x2xi32>) -> tensor<?x4xf32>
  %shape = stablehlo.concatenate %n1, %four, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %1:2 = stablehlo.custom_call @stablehlo.dynamic_rng_bit_generator(%state, %shape) {api_version = 2 : i32, rng_algorithm = #stablehlo<rng_algorithm DEFAULT>} : (tensor<2xui64>, tensor<2xi32>) -> (tensor<2xui64>, tensor<?x4xui32>)
  %2:2 = stablehlo.custom_call @stablehlo.dynamic_top_k(%x, %two) {api_version = 2 : i32} : (tensor<?x4xf32>, tensor<i32>) -> (tensor<?x2xf32>, tensor<?x2xi32>)
  %3 = stablehlo.custom_call @Sharding(%x, %shape) {indices_of_shape_operands = dense<[1]> : tensor<1xi64>, mhlo.sharding = "{replicated}"} : (tensor<?x4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  return %0, %1#1, %2#0, %3 : tensor<?x4xf32>, tensor<?x4xui32>, tensor<?x2xf32>, tensor<?x4xf32>
}

func.func private @add(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.add %a, %b : tensor<f32>
  return %0 : tensor<f32>
}
