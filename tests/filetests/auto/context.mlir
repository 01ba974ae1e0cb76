// Attention over one long sequence: there is one example, so the queries are sharded along their sequence and keys and values are all-gathered.
// RUN: shardc auto %s --target v5e:2x2 -o %t | FileCheck %s
// RUN: shardc partition %t --target v5e:2x2 -o - | FileCheck %s --check-prefix=SPMD

// CHECK: mesh context=4
// CHECK: q: {{.*}} 1x8192x128 as -,context,-
// SPMD: -> tensor<1x2048x8192xbf16>

func.func @main(
    %q: tensor<1x8192x128xbf16> loc("q"), %k: tensor<1x8192x128xbf16> loc("k"), %v: tensor<1x8192x128xbf16> loc("v"))
    -> tensor<1x8192x128xbf16> {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %scores = stablehlo.dot_general %q, %k, batching_dims = [0] x [0], contracting_dims = [2] x [2]
      : (tensor<1x8192x128xbf16>, tensor<1x8192x128xbf16>) -> tensor<1x8192x8192xbf16>
  %weights = stablehlo.exponential %scores : tensor<1x8192x8192xbf16>
  %sum = stablehlo.reduce(%weights init: %zero) applies stablehlo.add across dimensions = [2] : (tensor<1x8192x8192xbf16>, tensor<bf16>) -> tensor<1x8192xbf16>
  %sums = stablehlo.broadcast_in_dim %sum, dims = [0, 1] : (tensor<1x8192xbf16>) -> tensor<1x8192x8192xbf16>
  %normal = stablehlo.divide %weights, %sums : tensor<1x8192x8192xbf16>
  %out = stablehlo.dot_general %normal, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
      : (tensor<1x8192x8192xbf16>, tensor<1x8192x128xbf16>) -> tensor<1x8192x128xbf16>
  return %out : tensor<1x8192x128xbf16>
}
