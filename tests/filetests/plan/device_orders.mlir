// One device order inside the program; arguments and results with another order are permuted.
// RUN: shardc opt %s --passes propagate,plan,lower-reshards | FileCheck %s
// RUN: shardc partition %s -o /dev/null --manifest - 2>&1 | FileCheck %s --check-prefix=MANIFEST

// More bytes are on @b: %x is permuted.
sdy.mesh @a = <["x"=4]>
sdy.mesh @b = <["y"=2, "z"=2], device_ids=[0, 3, 1, 2]>
// CHECK: sdy.mesh @a_in_order
// CHECK: func.func @main(%arg0: tensor<12xf32> {sdy.sharding = #sdy.sharding<@a_in_order, [{"y", "z"}]>}, %arg1: tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@b, [{"y", "z"}, {}]>})
// CHECK-NEXT: %[[X:.*]] = sdy.collective_permute %arg0 out_sharding=<@b, [{"y", "z"}]>
// CHECK-NOT: sdy.collective_permute
// CHECK: stablehlo.broadcast_in_dim %[[X]]
// MANIFEST: "mesh": "a_in_order"
func.func @main(%x: tensor<12xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>}, %w: tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@b, [{"y", "z"}, {}]>}) -> (tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@b, [{"y", "z"}, {}]>}, tensor<12xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}]>}) {
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<12xf32>) -> tensor<12x12xf32>
  %1 = stablehlo.add %0, %w : tensor<12x12xf32>
  %2 = sdy.sharding_constraint %1 <@a, [{"x"}, {}]> : tensor<12x12xf32>
  return %2, %x : tensor<12x12xf32>, tensor<12xf32>
}
