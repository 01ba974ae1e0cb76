// An all-reduce of a sum is explained by the matmuls whose partial sums are added.
// RUN: shardc explain %s --kind all_reduce | FileCheck %s

// CHECK: all_reduce of tensor<8x16xf32> along model, {{.*}} for stablehlo.add
// CHECK: it adds partial sums: stablehlo.dot_general at line {{[0-9]+}} reduces dimension 1 of %x, which is sharded along "model"
// CHECK: it adds partial sums: stablehlo.dot_general at line {{[0-9]+}} reduces dimension 1 of %y, which is sharded along "model"
// CHECK-NOT: devices need elements of other shards

sdy.mesh @mesh = <["model"=4]>
func.func @main(
    %x: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
    %y: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
    %v: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
    %w: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<8x16xf32> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %1 = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0] : (tensor<8x64xf32>, tensor<64x16xf32>) -> tensor<8x16xf32>
  %2 = stablehlo.add %0, %1 : tensor<8x16xf32>
  return %2 : tensor<8x16xf32>
}
