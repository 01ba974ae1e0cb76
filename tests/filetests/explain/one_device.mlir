// A value on a single device has no dimensions that can be sharded.
// RUN: shardc explain %s | FileCheck %s

// CHECK: axis "axis_0" (2 devices) shards 1 values
func.func @main(%x: tensor<4x8xf32> {mhlo.sharding = "{maximal device=0}"},
    %w: tensor<8x2xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) -> tensor<4x2xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
