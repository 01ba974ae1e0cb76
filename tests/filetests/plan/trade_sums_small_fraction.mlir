// An all-reduce is not replaced if this saves only a few percent of the program's bytes: all-gathers take time and memory.
// RUN: shardc opt %s --passes propagate,plan,dce,merge-reductions,trade-sums | FileCheck %s

sdy.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @main
// CHECK: stablehlo.dot_general %arg0, %arg1, {{.*}}unreduced={"data"}
// CHECK: stablehlo.dot_general %arg2, %arg3, {{.*}}unreduced={"data"}
func.func @main(%x: tensor<16x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %g: tensor<16x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %y: tensor<65536x16384xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %h: tensor<65536x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<2048x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
        tensor<16384x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<16x2048xf32>, tensor<16x1024xf32>) -> tensor<2048x1024xf32>
  %1 = stablehlo.dot_general %y, %h, contracting_dims = [0] x [0] : (tensor<65536x16384xf32>, tensor<65536x8192xf32>) -> tensor<16384x8192xf32>
  return %0, %1 : tensor<2048x1024xf32>, tensor<16384x8192xf32>
}
