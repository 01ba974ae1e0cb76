// All-gathers without a warning: of a step's intermediate result, here the largest elements of each shard; of a
// reshard in the program; of a weight that is reversed for a convolution's gradient; and none at all.
// RUN: shardc partition %s --strict --combine-bytes 0 -o - | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK: chlo.top_k(%{{.*}}, k = 3) : tensor<6x1x16xf32>
// CHECK-DAG: "stablehlo.all_gather"{{.*}} -> tensor<6x12xf32>
// CHECK-DAG: "stablehlo.all_gather"{{.*}} -> tensor<6x12xi32>
// CHECK-DAG: "stablehlo.all_gather"{{.*}} -> tensor<8x8xf32>
// CHECK-DAG: "stablehlo.all_gather"{{.*}} -> tensor<3x4x8xf32>
func.func @main(
    %a: tensor<6x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
    %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    %x: tensor<4096x16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
    %w: tensor<3x4x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>},
    %e: tensor<1x0x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"x"}]>})
    -> (tensor<6x3xf32>, tensor<6x3xi32>, tensor<8x8xf32>,
        tensor<4096x14x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>}, tensor<0xf32>) {
  %0:2 = chlo.top_k(%a, k = 3) : tensor<6x64xf32> -> (tensor<6x3xf32>, tensor<6x3xi32>)
  %1 = stablehlo.tanh %b : tensor<8x8xf32>
  %2 = sdy.reshard %1 <@mesh, [{}, {}]> : tensor<8x8xf32>
  %3 = stablehlo.sine %2 : tensor<8x8xf32>
  %4 = stablehlo.reverse %w, dims = [0] : tensor<3x4x8xf32>
  %5 = stablehlo.convolution(%x, %4) dim_numbers = [b, 0, f]x[0, o, i]->[b, 0, f], window = {} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<4096x16x8xf32>, tensor<3x4x8xf32>) -> tensor<4096x14x4xf32>
  %6 = stablehlo.reshape %e : (tensor<1x0x16xf32>) -> tensor<0xf32>
  return %0#0, %0#1, %3, %5, %6 : tensor<6x3xf32>, tensor<6x3xi32>, tensor<8x8xf32>, tensor<4096x14x4xf32>, tensor<0xf32>
}
