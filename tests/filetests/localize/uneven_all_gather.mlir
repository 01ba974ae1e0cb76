// Ten rows on four devices are all-gathered as twelve, then sliced.
// RUN: shardc opt %s --passes localize | FileCheck %s

sdy.mesh @mesh = <["a"=4]>

// CHECK: %[[ALL:.*]] = "stablehlo.all_gather"(%arg0) {{.*}} : (tensor<3xf32>) -> tensor<12xf32>
// CHECK-NEXT: stablehlo.slice %[[ALL]] [0:10] : (tensor<12xf32>) -> tensor<10xf32>
func.func @main(%x: tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) {
  %0 = sdy.all_gather [{"a"}] %x out_sharding=<@mesh, [{}]> : tensor<10xf32>
  return %0 : tensor<10xf32>
}
