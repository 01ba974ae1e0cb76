// The last three of 1001 elements, reversed: a flag excludes the padding of the last shard of 126 from the candidates.
// RUN: shardc partition %s -o - --summary 2>&1 | FileCheck %s

sdy.mesh @mesh = <["x"=8]>

// CHECK-LABEL: func.func @main(%arg0: tensor<126xi32>
// CHECK: stablehlo.sort
// CHECK: (tensor<1x126xi32>, tensor<1x126xi1>) -> (tensor<1x126xi32>, tensor<1x126xi1>)
// CHECK: all_gather {{[0-9]+}} 0 2 105 B
func.func @main(%a: tensor<1001xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %c = stablehlo.compare LT, %l, %r, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<1001xi32>) -> tensor<1001xi32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<1001xi32>
  %2 = stablehlo.slice %1 [0:3] : (tensor<1001xi32>) -> tensor<3xi32>
  return %2 : tensor<3xi32>
}
