// Partial sums in `bf16` that are cast to `f32` before they are added are all-reduced once, in `bf16`.
// RUN: shardc partition %s -o - --summary 2>&1 | FileCheck %s

// CHECK: dot_general
// CHECK: stablehlo.convert
// CHECK: stablehlo.add
// CHECK: stablehlo.add
// CHECK-NEXT: stablehlo.convert %{{.*}} -> tensor<16x16xbf16>
// CHECK: all_reduce 1 0 1 896 B
sdy.mesh @mesh = <["x"=8]>
func.func @main(%a: tensor<16x32xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %q: tensor<32x16xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %k: tensor<32x16xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %v: tensor<32x16xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %a, %q, contracting_dims = [1] x [0] : (tensor<16x32xbf16>, tensor<32x16xbf16>) -> tensor<16x16xbf16>
  %1 = stablehlo.convert %0 : (tensor<16x16xbf16>) -> tensor<16x16xf32>
  %2 = stablehlo.dot_general %a, %k, contracting_dims = [1] x [0] : (tensor<16x32xbf16>, tensor<32x16xbf16>) -> tensor<16x16xbf16>
  %3 = stablehlo.convert %2 : (tensor<16x16xbf16>) -> tensor<16x16xf32>
  %4 = stablehlo.add %1, %3 : tensor<16x16xf32>
  %5 = stablehlo.dot_general %a, %v, contracting_dims = [1] x [0] : (tensor<16x32xbf16>, tensor<32x16xbf16>) -> tensor<16x16xbf16>
  %6 = stablehlo.convert %5 : (tensor<16x16xbf16>) -> tensor<16x16xf32>
  %7 = stablehlo.add %4, %6 : tensor<16x16xf32>
  return %7 : tensor<16x16xf32>
}
