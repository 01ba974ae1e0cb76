// Shardings follow the factors of a matmul: rows from the left operand, columns from the right one.
// RUN: shardc propagate %s | FileCheck %s

sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK: stablehlo.dot_general {{.*}}<@mesh, [{"data"}, {"model"}]>
// CHECK: stablehlo.sine {{.*}}<@mesh, [{"data"}, {"model"}]>
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %1 = stablehlo.sine %0 : tensor<32x16xf32>
  return %1 : tensor<32x16xf32>
}
