// RUN: shardc partition %s -o - --summary --combine-bytes 0 | FileCheck %s
//
// A forward pass has no parameter updates, so the batch is inferred from its dimension: it reaches the most values
// from the fewest arguments. Each layer all-gathers its weights, and no activation is all-gathered or all-reduced.

sdy.mesh @mesh = <["data"=4]>

// CHECK-LABEL: func.func public @main
// CHECK-COUNT-3: "stablehlo.all_gather"({{.*}}) {{.*}} (tensor<{{.*}}>) -> tensor<64x64xf32>
// CHECK-NOT: all_reduce
// CHECK-NOT: all_gather
// CHECK: return {{.*}} : tensor<256x64xf32>
func.func public @main(
    %x: tensor<1024x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>},
    %w2: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<1024x64xf32> {
  %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %1 = stablehlo.tanh %0 : tensor<1024x64xf32>
  %2 = stablehlo.dot_general %1, %w1, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  %3 = stablehlo.tanh %2 : tensor<1024x64xf32>
  %4 = stablehlo.dot_general %3, %w2, contracting_dims = [1] x [0] : (tensor<1024x64xf32>, tensor<64x64xf32>) -> tensor<1024x64xf32>
  return %4 : tensor<1024x64xf32>
}
