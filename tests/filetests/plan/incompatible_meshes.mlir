// Meshes without common sub-axes.
// RUN: not shardc opt %s --split-input-file --passes propagate,plan 2>&1 | FileCheck %s

sdy.mesh @a = <["x"=2, "y"=3]>
sdy.mesh @b = <["z"=3, "w"=2]>
// CHECK: error[SH0302]: values are sharded on two meshes, @a and @b: their axes have no common refinement
func.func @main(%x: tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}, {"y"}]>}) -> (tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@b, [{"z"}, {"w"}]>}) {
  %0 = stablehlo.sine %x : tensor<12x12xf32>
  return %0 : tensor<12x12xf32>
}

// -----

sdy.mesh @a = <["x"=4]>
sdy.mesh @b = <["x"=2]>
// CHECK: error[SH0302]: values are sharded on two meshes, @a and @b: they have different numbers of devices
func.func @main(%x: tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@a, [{"x"}, {}]>}) -> (tensor<12x12xf32> {sdy.sharding = #sdy.sharding<@b, [{"x"}, {}]>}) {
  %0 = stablehlo.sine %x : tensor<12x12xf32>
  return %0 : tensor<12x12xf32>
}
