// RUN: shardc partition %s -o - | FileCheck %s
// Three unreduced values that are added to a fourth value one after
// the other are completed by one all-reduce.

sdy.mesh @mesh = <["model"=4]>

// CHECK-LABEL: func.func public @main
// CHECK: %[[A:.*]] = stablehlo.dot_general
// CHECK: %[[B:.*]] = stablehlo.dot_general
// CHECK: %[[AB:.*]] = stablehlo.add %[[A]], %[[B]]
// CHECK: %[[C:.*]] = stablehlo.dot_general
// CHECK: %[[ABC:.*]] = stablehlo.add %[[AB]], %[[C]]
// CHECK: %[[SUM:.*]] = "stablehlo.all_reduce"(%[[ABC]])
// CHECK-NOT: all_reduce
// CHECK: stablehlo.add %{{.*}}, %[[SUM]]
func.func public @main(
    %g: tensor<8x16xf32>,
    %a: tensor<8x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
    %w: tensor<16x24xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) -> (tensor<8x16xf32>, tensor<8x16xf32>) {
  %0 = stablehlo.dot_general %a, %w, contracting_dims = [1] x [1] : (tensor<8x24xf32>, tensor<16x24xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.add %g, %0 : tensor<8x16xf32>
  %2 = stablehlo.negate %w : tensor<16x24xf32>
  %3 = stablehlo.dot_general %a, %2, contracting_dims = [1] x [1] : (tensor<8x24xf32>, tensor<16x24xf32>) -> tensor<8x16xf32>
  %4 = stablehlo.add %1, %3 : tensor<8x16xf32>
  %5 = stablehlo.tanh %w : tensor<16x24xf32>
  %6 = stablehlo.dot_general %a, %5, contracting_dims = [1] x [1] : (tensor<8x24xf32>, tensor<16x24xf32>) -> tensor<8x16xf32>
  %7 = stablehlo.add %4, %6 : tensor<8x16xf32>
  return %7, %g : tensor<8x16xf32>, tensor<8x16xf32>
}
