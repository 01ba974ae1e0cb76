// A gradient that is scaled before a loop adds or subtracts it is scaled on each device, and all-reduced once after the loop.
// RUN: shardc partition %s -o - --summary 2>&1 | FileCheck %s

// CHECK: stablehlo.while
// CHECK: dot_general
// CHECK-NEXT: stablehlo.divide
// CHECK-NEXT: stablehlo.subtract
// CHECK: all_reduce 1 0 1 336 B
// CHECK: collectives cleaned up: 1 deferred past a loop
sdy.mesh @mesh = <["data"=8]>
func.func @main(%x: tensor<4x16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}]>}, %first: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %four = stablehlo.constant dense<4.0> : tensor<8x6xf32>
  %r:2 = stablehlo.while(%i = %zero, %dw = %first) : tensor<i32>, tensor<8x6xf32>
  cond {
    %n = stablehlo.constant dense<4> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 8] : (tensor<4x16x8xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x8xf32>
    %3 = stablehlo.reshape %2 : (tensor<1x16x8xf32>) -> tensor<16x8xf32>
    %y = stablehlo.slice %3 [0:16, 0:6] : (tensor<16x8xf32>) -> tensor<16x6xf32>
    %4 = stablehlo.dot_general %3, %y, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x6xf32>) -> tensor<8x6xf32>
    %5 = stablehlo.divide %4, %four : tensor<8x6xf32>
    %6 = stablehlo.subtract %dw, %5 : tensor<8x6xf32>
    stablehlo.return %1, %6 : tensor<i32>, tensor<8x6xf32>
  }
  return %r#1 : tensor<8x6xf32>
}
