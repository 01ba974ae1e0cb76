// Values that are all-reduced in a narrow type, and accumulated transposed in a wider type, are accumulated per
// device and all-reduced once, except if the trip count is so small that this sends more bytes.
// RUN: shardc partition %S/../../programs/small/loop_accumulates_wider.mlir -o - --summary 2>&1 | FileCheck %s
// RUN: shardc partition %s -o %t --summary 2>&1 | FileCheck %s --check-prefix=ONCE --implicit-check-not=completed

// CHECK: stablehlo.while
// CHECK: dot_general
// CHECK-NEXT: stablehlo.convert %{{.*}} : (tensor<8x6xbf16>) -> tensor<8x6xf32>
// CHECK-NEXT: stablehlo.transpose
// CHECK-NEXT: stablehlo.add
// CHECK: all_reduce 1 0 1 288 B
// CHECK: collectives cleaned up: 1 deferred past a loop
// ONCE: all_reduce 1 1 1 144 B
sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<1x16x8xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}]>}, %first: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> (tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:2 = stablehlo.while(%i = %zero, %dw = %first) : tensor<i32>, tensor<6x8xf32>
  cond {
    %n = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    %2 = stablehlo.dynamic_slice %x, %i, %zero, %zero, sizes = [1, 16, 8] : (tensor<1x16x8xbf16>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x8xbf16>
    %3 = stablehlo.reshape %2 : (tensor<1x16x8xbf16>) -> tensor<16x8xbf16>
    %y = stablehlo.slice %3 [0:16, 0:6] : (tensor<16x8xbf16>) -> tensor<16x6xbf16>
    %4 = stablehlo.dot_general %3, %y, contracting_dims = [0] x [0] : (tensor<16x8xbf16>, tensor<16x6xbf16>) -> tensor<8x6xbf16>
    %5 = stablehlo.convert %4 : (tensor<8x6xbf16>) -> tensor<8x6xf32>
    %t = stablehlo.transpose %5, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
    %6 = stablehlo.add %dw, %t : tensor<6x8xf32>
    stablehlo.return %1, %6 : tensor<i32>, tensor<6x8xf32>
  }
  return %r#1 : tensor<6x8xf32>
}
