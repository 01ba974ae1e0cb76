// Collectives whose results are only used at the end of the program are combined across others that cannot be: the
// gradients of two layers, across the collective between the layers. The collective of a matmul is not delayed.
// All-gathers would have to be copied to be combined, which does not pay off for so many bytes.
// RUN: shardc opt %s --passes clean-collectives | FileCheck %s --implicit-check-not=stablehlo.all_ --implicit-check-not=stablehlo.reduce_scatter

module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<8x256xf32>, %w: tensor<256x256xf32>) -> (tensor<256x256xf32>, tensor<256x256xf32>, tensor<4x256x256xf32>, tensor<4x256x256xf32>) {
    // CHECK: %[[EARLY:.*]] = "stablehlo.all_reduce"(%arg0) <{replica_groups = dense<{{\[\[}}0, 1], [2, 3]]> : tensor<2x2xi64>}>
    // CHECK: stablehlo.dot_general %[[EARLY]], %arg1
    %0 = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x256xf32>) -> tensor<8x256xf32>
    %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<8x256xf32>, tensor<256x256xf32>) -> tensor<8x256xf32>
    %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0] : (tensor<8x256xf32>, tensor<8x256xf32>) -> tensor<256x256xf32>
    %3 = "stablehlo.all_reduce"(%2) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %4 = stablehlo.subtract %w, %3 : tensor<256x256xf32>
    // CHECK: "stablehlo.all_reduce"(%{{.*}}) <{replica_groups = dense<{{\[\[}}0, 2], [1, 3]]> : tensor<2x2xi64>}>
    %5 = "stablehlo.all_reduce"(%1) <{replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<8x256xf32>) -> tensor<8x256xf32>
    %6 = stablehlo.dot_general %x, %5, contracting_dims = [0] x [0] : (tensor<8x256xf32>, tensor<8x256xf32>) -> tensor<256x256xf32>
    // CHECK: "stablehlo.all_reduce"(%{{.*}}, %{{.*}}) <{replica_groups = dense<{{\[\[}}0, 1], [2, 3]]> : tensor<2x2xi64>}>
    %7 = "stablehlo.all_reduce"(%6) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<256x256xf32>) -> tensor<256x256xf32>
    %8 = stablehlo.subtract %w, %7 : tensor<256x256xf32>
    // CHECK-COUNT-2: "stablehlo.all_gather"(%{{.*}})
    %9 = stablehlo.reshape %w : (tensor<256x256xf32>) -> tensor<1x256x256xf32>
    %10 = "stablehlo.all_gather"(%9) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<1x256x256xf32>) -> tensor<4x256x256xf32>
    %11 = stablehlo.negate %9 : tensor<1x256x256xf32>
    %12 = "stablehlo.all_gather"(%11) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<1x256x256xf32>) -> tensor<4x256x256xf32>
    return %4, %8, %10, %12 : tensor<256x256xf32>, tensor<256x256xf32>, tensor<4x256x256xf32>, tensor<4x256x256xf32>
  }
}
