// A free axis crosses the boundary of a manual computation only if it divides the local size at each manual coordinate;
// otherwise the value is replicated along that axis at the boundary and sharded inside. The all-gather is reported.
// RUN: shardc opt %s --passes propagate,plan 2>&1 | FileCheck %s

sdy.mesh @mesh = <["m"=2, "f"=4]>
// CHECK: warning[SH0310]: tensor<12x8xf32> (384 B) is resharded from [{"m", "f"}, {}] to [{"m"}, {}] at the boundary of a manual computation
// CHECK: %[[X:.*]] = sdy.reshard %arg0 <@mesh, [{"m"}, {}]> : tensor<12x8xf32>
// CHECK: sdy.manual_computation(%[[X]], %arg1) in_shardings=[<@mesh, [{"m"}, {}]>, <@mesh, [{"m"}, {"f"}]>] out_shardings=[<@mesh, [{"m"}, {"f"}]>] manual_axes={"m"} (%[[P:.*]]: tensor<6x8xf32>, %[[Q:.*]]: tensor<6x8xf32>)
// CHECK-NEXT: %[[R:.*]] = sdy.reshard %[[P]] <@mesh, [{}, {"f"}]> : tensor<6x8xf32>
// CHECK-NEXT: stablehlo.add %[[R]], %[[Q]]
func.func @main(%x: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m", "f"}, {}]>}, %y: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {"f"}]>}) -> (tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m"}, {"f"}]>}) {
  %0 = sdy.manual_computation(%x, %y) in_shardings=[<@mesh, [{"m", "f"}, {}]>, <@mesh, [{"m"}, {"f"}]>] out_shardings=[<@mesh, [{"m"}, {"f"}]>] manual_axes={"m"} (%p: tensor<6x8xf32>, %q: tensor<6x8xf32>) {
    %1 = stablehlo.add %p, %q {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"f"}]>]>} : tensor<6x8xf32>
    sdy.return %1 : tensor<6x8xf32>
  } : (tensor<12x8xf32>, tensor<12x8xf32>) -> tensor<12x8xf32>
  return %0 : tensor<12x8xf32>
}
