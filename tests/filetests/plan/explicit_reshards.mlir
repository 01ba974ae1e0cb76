// Planning makes every reshard explicit, on global shapes: the weight is all-gathered before its use, and the matmul
// over the sharded batch is unreduced until its reshard completes it.
// RUN: shardc opt %s --passes inline,propagate,plan | FileCheck %s

// CHECK: %[[W:.*]] = sdy.reshard %arg1 <@mesh, [{}, {}]> : tensor<16x16xf32>
// CHECK-NEXT: %[[Y:.*]] = stablehlo.dot_general %arg0, %[[W]], {{.*}}<@mesh, [{"data"}, {}]>
// CHECK-NEXT: %[[DW:.*]] = stablehlo.dot_general %arg0, %[[Y]], {{.*}}<@mesh, [{}, {}], unreduced={"data"}>
// CHECK-NEXT: %[[BLOCK:.*]] = sdy.reshard %[[DW]] <@mesh, [{"data"}, {}]> : tensor<16x16xf32>
// CHECK-NEXT: return %[[Y]], %[[BLOCK]]
sdy.mesh @mesh = <["data"=8]>
func.func @main(%x: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
        tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x16xf32>) -> tensor<64x16xf32>
  %dw = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<64x16xf32>, tensor<64x16xf32>) -> tensor<16x16xf32>
  return %y, %dw : tensor<64x16xf32>, tensor<16x16xf32>
}
