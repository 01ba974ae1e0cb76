// A large replicated argument is reported if other arguments are sharded, with a sharding that would fit.
// RUN: shardc lint %s --allow annotation-without-effect | FileCheck %s
// RUN: shardc lint %s --min-bytes 8MiB | FileCheck %s --check-prefix=LARGER
// RUN: shardc lint %s --deny large-unsharded-parameter > %t.txt; test $? = 1
// RUN: shardc lint %s --deny SH0901 --allow SH0902 > %t.txt; test $? = 1
// RUN: shardc lint %s --deny all --allow large-unsharded-parameter,unused-mesh-axis,large-replicated-value

sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK: warning[SH0901]: argument 2 (params['out']), tensor<1024x1024xf32>, is replicated on each of 8 devices: 4.0 MiB each
// CHECK-NEXT: large_unsharded_parameter.mlir:[[#@LINE+7]]:17
// CHECK: help: "data" divides dimension 0 and 1, "model" divides dimension 0 and 1; #sdy.sharding<@mesh, [{"model"}, {}]> leaves 2.0 MiB per device
// CHECK: 1 warning
// LARGER: no warnings
func.func @main(%x: tensor<64x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("x"),
                %w: tensor<1024x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>} loc("params['in']"),
                // 4 MiB.
                %v: tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>} loc("params['out']")) -> tensor<64x4096xf32> {
  %0 = stablehlo.dot_general %x, %v, contracting_dims = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x1024xf32>) -> tensor<64x1024xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<64x1024xf32>, tensor<1024x4096xf32>) -> tensor<64x4096xf32>
  return %1 : tensor<64x4096xf32>
}
