// A forward pass of few rows through large weights: the first weight is sharded by columns and the second by rows, so that only the result is
// all-reduced (Shoeybi et al., "Megatron-LM", 2019).
// RUN: shardc auto %s --target v5e:2x2 -o %t | FileCheck %s
// RUN: shardc partition %t --target v5e:2x2 -o - | FileCheck %s --check-prefix=SPMD

// CHECK: w: parameter 4096x16384 as -,tensor
// CHECK: v: {{.*}} 16384x4096 as tensor,-
// SPMD-NOT: all_gather
// SPMD: reduce_scatter
// SPMD-NOT: all_gather

func.func @main(%x: tensor<64x4096xbf16>, %w: tensor<4096x16384xbf16>, %v: tensor<16384x4096xbf16>) -> tensor<64x4096xbf16> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x4096xbf16>, tensor<4096x16384xbf16>) -> tensor<64x16384xbf16>
  %1 = stablehlo.tanh %0 : tensor<64x16384xbf16>
  %2 = stablehlo.dot_general %1, %v, contracting_dims = [1] x [0] : (tensor<64x16384xbf16>, tensor<16384x4096xbf16>) -> tensor<64x4096xbf16>
  return %2 : tensor<64x4096xbf16>
}
