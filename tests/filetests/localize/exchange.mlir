// A direct exchange: each round slices a piece, sends it, and writes it into the new block.
// RUN: shardc opt %s --passes localize -split-input-file | FileCheck %s

sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK: %[[AT:.*]] = stablehlo.reshape
// CHECK: %[[SLAB:.*]] = stablehlo.dynamic_slice %arg0, %{{.*}}, %[[AT]], sizes = [4, 4]
// CHECK: %[[SENT:.*]] = "stablehlo.collective_permute"(%[[SLAB]]) <{source_target_pairs = {{.*}} : tensor<8x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
// CHECK: %[[HALF:.*]] = stablehlo.dynamic_update_slice %{{.*}}, %[[SENT]], %[[AT]], %{{.*}} : (tensor<8x4xf32>
// CHECK: "stablehlo.collective_permute"
// CHECK: %[[BLOCK:.*]] = stablehlo.dynamic_update_slice %[[HALF]]
// CHECK-NEXT: return %[[BLOCK]] : tensor<8x4xf32>
func.func @main(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {"data"}]>}) {
  %0 = shardc.exchange %x out_sharding=<@mesh, [{"model"}, {"data"}]> : tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}

// -----
// Uneven blocks: slabs stick out of the block that they are written to, and are trimmed; who receives nothing keeps what it has.

sdy.mesh @mesh = <["a"=3, "b"=2]>

// CHECK: %[[SENT:.*]] = "stablehlo.collective_permute"(%arg0) {{.*}} : (tensor<4xf32>) -> tensor<4xf32>
// CHECK: %[[HAD:.*]] = stablehlo.dynamic_slice %{{.*}}, sizes = [4]
// CHECK: %[[AROUND:.*]] = stablehlo.pad %[[HAD]], %{{.*}}, low = [1], high = [0]
// CHECK: %[[WRITTEN:.*]] = stablehlo.dynamic_update_slice %[[AROUND]], %[[SENT]]
// CHECK-NEXT: %[[TRIMMED:.*]] = stablehlo.slice %[[WRITTEN]] [1:5]
// CHECK: %[[OWN:.*]] = stablehlo.select %{{.*}}, %[[TRIMMED]], %[[HAD]]
// CHECK-NEXT: stablehlo.dynamic_update_slice %{{.*}}, %[[OWN]]
func.func @main(%x: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) {
  %0 = shardc.exchange %x out_sharding=<@mesh, [{"b"}]> : tensor<10xf32>
  return %0 : tensor<10xf32>
}

// -----
// One piece is the whole block: a slice and a permute.

sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK: %[[SLAB:.*]] = stablehlo.dynamic_slice %arg0, {{.*}} sizes = [4, 8]
// CHECK-NEXT: %[[BLOCK:.*]] = "stablehlo.collective_permute"(%[[SLAB]])
// CHECK-NEXT: return %[[BLOCK]] : tensor<4x8xf32>
func.func @main(%x: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> (tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) {
  %0 = shardc.exchange %x out_sharding=<@mesh, [{"data"}, {"model"}]> : tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
