// Collectives that reshard the operands of a matmul, because reducing its result would send more, are explained by the sum, along their own axis.
// A conflict along another axis is no reason.
// RUN: shardc explain %s | FileCheck %s

// CHECK: all_gather of {{.*}} along model
// CHECK-NEXT: it adds partial sums: stablehlo.dot_general at line {{[0-9]+}} reduces dimension 0 of %x, which is sharded along "model"
// CHECK-NEXT: it adds partial sums: stablehlo.dot_general at line {{[0-9]+}} reduces dimension 0 of %g, which is sharded along "model"
// CHECK-NEXT: operands are resharded along "model", because a device then sends {{.*}} MiB instead of 56.0 MiB for the sum
sdy.mesh @mesh = <["data"=2, "model"=8]>
func.func @main(%x: tensor<16x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
    %g: tensor<16x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>})
    -> (tensor<2048x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<16x4096xf32>, tensor<16x2048xf32>) -> tensor<4096x2048xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4096x2048xf32>) -> tensor<2048x4096xf32>
  return %1 : tensor<2048x4096xf32>
}
