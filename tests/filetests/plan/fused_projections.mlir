// RUN: shardc opt %s --passes propagate,unfuse-products,dce | FileCheck %s
// RUN: shardc partition %s -o - | FileCheck %s --check-prefix=LOCAL --implicit-check-not=permute{{.*}}8192x
// A matmul with a fused weight for queries, keys and values becomes three matmuls with slices of the weight. Devices
// exchange slices of the weight, and nothing that has a row for each of 16,384 tokens. The same holds for the
// gradients.

sdy.mesh @mesh = <["data"=2, "model"=4]>

// CHECK-LABEL: func.func public @main
// CHECK: %[[WQ:.*]] = stablehlo.slice %arg1 [0:64, 0:64]
// CHECK: stablehlo.dot_general %arg0, %[[WQ]]
// CHECK: %[[BQ:.*]] = stablehlo.slice %arg2 [0:64]
// CHECK: stablehlo.broadcast_in_dim %[[BQ]]
// CHECK: %[[WK:.*]] = stablehlo.slice %arg1 [0:64, 64:128]
// CHECK: stablehlo.dot_general %arg0, %[[WK]]
// CHECK: %[[WV:.*]] = stablehlo.slice %arg1 [0:64, 128:192]
// CHECK: stablehlo.dot_general %arg0, %[[WV]]
//
// The weight that waits for the gradients waits for the last of them.
// CHECK: %[[DV:.*]] = stablehlo.tanh
// CHECK: %[[LATER:.*]]:2 = stablehlo.optimization_barrier {{.*}} %[[DV]] : {{.*}}, tensor<16384x64xf32>
//
// CHECK-COUNT-3: stablehlo.reduce{{.*}} -> tensor<64xf32>
// CHECK: stablehlo.concatenate {{.*}} -> tensor<192xf32>
// CHECK-COUNT-3: stablehlo.dot_general {{.*}} -> tensor<64x64xf32>
// CHECK: stablehlo.concatenate {{.*}} -> tensor<64x192xf32>
// CHECK: stablehlo.slice %[[LATER]]#0 [0:64, 0:64]
// CHECK: stablehlo.dot_general {{.*}} -> tensor<16384x64xf32>
// CHECK-COUNT-2: stablehlo.add {{.*}} tensor<16384x64xf32>
// CHECK-NOT: tensor<16384x192xf32>
// LOCAL-LABEL: func.func public @main
// LOCAL: "stablehlo.collective_permute"
func.func public @main(
    %x: tensor<16384x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<64x192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
    %b: tensor<192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>})
    -> (tensor<16384x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
        tensor<64x192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>},
        tensor<192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %xw = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16384x64xf32>, tensor<64x192xf32>) -> tensor<16384x192xf32>
  %rows = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<192xf32>) -> tensor<16384x192xf32>
  %qkv = stablehlo.add %xw, %rows : tensor<16384x192xf32>
  %q = stablehlo.slice %qkv [0:16384, 0:64] : (tensor<16384x192xf32>) -> tensor<16384x64xf32>
  %k = stablehlo.slice %qkv [0:16384, 64:128] : (tensor<16384x192xf32>) -> tensor<16384x64xf32>
  %v = stablehlo.slice %qkv [0:16384, 128:192] : (tensor<16384x192xf32>) -> tensor<16384x64xf32>
  %qk = stablehlo.multiply %q, %k : tensor<16384x64xf32>
  %dq = stablehlo.multiply %qk, %v : tensor<16384x64xf32>
  %dk = stablehlo.sine %dq : tensor<16384x64xf32>
  %dv = stablehlo.tanh %dk : tensor<16384x64xf32>
  %d = stablehlo.concatenate %dq, %dk, %dv, dim = 1 : (tensor<16384x64xf32>, tensor<16384x64xf32>, tensor<16384x64xf32>) -> tensor<16384x192xf32>
  %later:2 = stablehlo.optimization_barrier %w, %d : tensor<64x192xf32>, tensor<16384x192xf32>
  %db = stablehlo.reduce(%d init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<16384x192xf32>, tensor<f32>) -> tensor<192xf32>
  %dw = stablehlo.dot_general %x, %d, contracting_dims = [0] x [0] : (tensor<16384x64xf32>, tensor<16384x192xf32>) -> tensor<64x192xf32>
  %dx = stablehlo.dot_general %d, %later#0, contracting_dims = [1] x [1] : (tensor<16384x192xf32>, tensor<64x192xf32>) -> tensor<16384x64xf32>
  return %dx, %dw, %db : tensor<16384x64xf32>, tensor<64x192xf32>, tensor<192xf32>
}
