// A tensor with a dynamic size stays replicated; it cannot be sharded.
// RUN: not shardc opt %s --split-input-file --passes propagate,plan,lower-reshards,localize 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=ERR < %t.err

sdy.mesh @mesh = <["x"=4]>
// CHECK-LABEL: func.func @main(%arg0: tensor<2x6xf32>, %arg1: tensor<?x6xf32, #stablehlo.bounds<16, ?>>)
// CHECK: stablehlo.add %arg1, %arg1 : tensor<?x6xf32, #stablehlo.bounds<16, ?>>
// CHECK: "stablehlo.all_reduce"
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<?x6xf32, #stablehlo.bounds<16, ?>>) -> (tensor<?x6xf32, #stablehlo.bounds<16, ?>>, tensor<6xf32>) {
  %0 = stablehlo.add %b, %b : tensor<?x6xf32, #stablehlo.bounds<16, ?>>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %1 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<8x6xf32>, tensor<f32>) -> tensor<6xf32>
  return %0, %1 : tensor<?x6xf32, #stablehlo.bounds<16, ?>>, tensor<6xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>
// ERR: error[SH0315]: cannot shard argument 0 of @main as [{"x"}, {}] because tensor<?x8xf32, #stablehlo.bounds<16, ?>> has a dynamic size
// ERR: = help: give the dimension a size with --dim, leave it unsharded, or pad it to its maximum size
func.func @main(%a: tensor<?x8xf32, #stablehlo.bounds<16, ?>> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<?x8xf32, #stablehlo.bounds<16, ?>> {
  %1 = stablehlo.add %a, %a : tensor<?x8xf32, #stablehlo.bounds<16, ?>>
  return %1 : tensor<?x8xf32, #stablehlo.bounds<16, ?>>
}
