// Without tensor parallelism, the all-reduce would not be needed, but each device would compute four times the products: this is no remedy.
// RUN: shardc explain %s | FileCheck %s

// CHECK: #0 all_reduce of tensor<4096x4096xf32> along model
// CHECK-NOT: remedy: replicate
// CHECK: no remedy: it sums over a sharded dimension; tried without success, because the program takes {{.*}} longer: replicate
sdy.mesh @mesh = <["model"=4]>
func.func @main(
    %x: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
    %w: tensor<4096x16384xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
    %v: tensor<16384x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x16384xf32>) -> tensor<4096x16384xf32>
  %1 = stablehlo.tanh %0 : tensor<4096x16384xf32>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<4096x16384xf32>, tensor<16384x4096xf32>) -> tensor<4096x4096xf32>
  return %2 : tensor<4096x4096xf32>
}
