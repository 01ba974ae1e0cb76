// Experts with large weights: each device holds some of the experts, and their tokens (Lepikhin et al., "GShard", 2020).
// RUN: shardc auto %s --target v5e:2x2 -o %t | FileCheck %s
// RUN: shardc partition %t --target v5e:2x2 -o - | FileCheck %s --check-prefix=SPMD

// CHECK: w and others: 2 x {{.*}} 8x4096x4096 as [[AXIS:[a-z]+]],-,-
// CHECK: x: {{.*}} 8x256x4096 as [[AXIS]],-,-
// SPMD-NOT: all_gather
// SPMD: tensor<2x4096x4096xbf16>
// SPMD-NOT: all_gather

func.func @main(%x: tensor<8x256x4096xbf16>, %w: tensor<8x4096x4096xbf16>, %v: tensor<8x4096x4096xbf16>) -> tensor<8x256x4096xbf16> {
  %0 = stablehlo.dot_general %x, %w, batching_dims = [0] x [0], contracting_dims = [2] x [1]
      : (tensor<8x256x4096xbf16>, tensor<8x4096x4096xbf16>) -> tensor<8x256x4096xbf16>
  %1 = stablehlo.tanh %0 : tensor<8x256x4096xbf16>
  %2 = stablehlo.dot_general %1, %v, batching_dims = [0] x [0], contracting_dims = [2] x [1]
      : (tensor<8x256x4096xbf16>, tensor<8x4096x4096xbf16>) -> tensor<8x256x4096xbf16>
  return %2 : tensor<8x256x4096xbf16>
}
