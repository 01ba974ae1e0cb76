// RUN: shardc partition %s -o - | FileCheck %s --check-prefix=EQUAL
// RUN: shardc partition %s -o - --target h100 | FileCheck %s --check-prefix=EQUAL
// RUN: shardc partition %s -o - --target h100:2x8 | FileCheck %s --check-prefix=HOSTS
// The target tells that the axis "host" is slow: the matmul is summed along "gpu", and fewer bytes cross hosts.
// EQUAL-COUNT-4: stablehlo.collective_permute
// EQUAL: stablehlo.reduce_scatter
// EQUAL-SAME: {{\[}}[0, 8], [1, 9],
// HOSTS: stablehlo.collective_permute
// HOSTS: stablehlo.all_reduce
// HOSTS-SAME: {{\[}}[0, 1, 2, 3, 4, 5, 6, 7], [8, 9, 10, 11, 12, 13, 14, 15]]
// HOSTS-NOT: stablehlo.all_gather
// HOSTS-NOT: stablehlo.reduce_scatter
sdy.mesh @mesh = <["host"=2, "gpu"=8]>
func.func @main(%x: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"host"}, {"gpu"}]>},
                %w: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"host"}, {}]>}) -> tensor<4096x4096xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}
