// Axes of different sizes are swapped: each new shard is two halves of old ones, which are sent directly.
// RUN: shardc opt %s --passes lower-reshards -split-input-file | FileCheck %s

sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK: %0 = shardc.exchange %arg0 out_sharding=<@mesh, [{"model"}, {"data"}]> : tensor<4096x4096xf32>
// CHECK-NEXT: return %0
func.func @main(%x: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<4096x4096xf32> {
  %0 = sdy.reshard %x <@mesh, [{"model"}, {"data"}]> : tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// -----
// An axis more before the one that stays: what a device lacks is one piece of another's block.

sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK: %0 = shardc.exchange %arg0 out_sharding=<@mesh, [{"data"}, {"model"}]> : tensor<4096x4096xf32>
// CHECK-NEXT: return %0
func.func @main(%x: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<4096x4096xf32> {
  %0 = sdy.reshard %x <@mesh, [{"data"}, {"model"}]> : tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}

// -----
// Many axes in another order, of a value smaller than their number of blocks: one element of each block moves.

sdy.mesh @mesh = <["x0"=2, "x1"=2, "x2"=2, "x3"=2, "x4"=2, "x5"=2, "x6"=2]>

// CHECK: %0 = shardc.exchange %arg0 out_sharding=<@mesh, [{"x1", "x3", "x5"}, {"x0", "x2", "x4", "x6"}]> : tensor<8x8xf32>
// CHECK-NEXT: return %0
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x0", "x2", "x4", "x6"}, {"x1", "x3", "x5"}]>}) -> tensor<8x8xf32> {
  %0 = sdy.reshard %x <@mesh, [{"x1", "x3", "x5"}, {"x0", "x2", "x4", "x6"}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
