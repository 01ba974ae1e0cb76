// If only the first or last elements of a sort are used, each shard contributes that many candidates, which are sorted again.
// RUN: shardc partition %s -o - --summary 2>&1 | FileCheck %s

sdy.mesh @mesh = <["x"=8]>

// CHECK-LABEL: func.func @main(%arg0: tensor<2x512xf32>
// CHECK: stablehlo.sort
// CHECK: all_gather {{[0-9]+}} 0 1 448 B
func.func @main(%a: tensor<2x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<2x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = "stablehlo.sort"(%a) <{dimension = 1 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %c = stablehlo.compare GT, %l, %r, TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<2x4096xf32>) -> tensor<2x4096xf32>
  %1 = stablehlo.slice %0 [0:2, 0:8] : (tensor<2x4096xf32>) -> tensor<2x8xf32>
  return %1 : tensor<2x8xf32>
}
