// Axes that move between several pairs of dimensions: one all-to-all.
// RUN: shardc opt %s --passes localize | FileCheck %s

sdy.mesh @mesh = <["a"=2, "b"=2]>

// CHECK: "stablehlo.all_to_all"(%arg0) <{concat_dimension = 0 : i64, replica_groups = dense<{{\[\[}}0, 2], [1, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 2 : i64}> : (tensor<4x4x8x8xf32>) -> tensor<8x4x4x8xf32>
// CHECK-NEXT: "stablehlo.all_to_all"({{.*}}) <{concat_dimension = 1 : i64, replica_groups = dense<{{\[\[}}0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 3 : i64}> : (tensor<8x4x4x8xf32>) -> tensor<8x8x4x4xf32>
func.func @main(%x: tensor<8x8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}, {}, {}]>}) -> (tensor<8x8x8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"a"}, {"b"}]>}) {
  %0 = sdy.all_to_all [{"a"}: 0->2, {"b"}: 1->3] %x out_sharding=<@mesh, [{}, {}, {"a"}, {"b"}]> : tensor<8x8x8x8xf32>
  return %0 : tensor<8x8x8x8xf32>
}
