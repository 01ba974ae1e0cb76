// The gradient of a kernel is a sum over shards of a spatial dimension; a shard that the kernel's shards do not
// divide evenly is all-gathered.
// RUN: shardc opt %s --passes propagate,plan -split-input-file -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN < %t.err

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @main(%arg0: tensor<2x16x3xf32>
// CHECK-NOT: sdy.reshard %arg
// CHECK: %[[SUM:.*]] = stablehlo.convolution(%arg0, %arg1)
// CHECK-NEXT: sdy.reshard %[[SUM]] <@mesh, [{}, {}, {}]>
func.func @main(
    %a: tensor<2x16x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
    %g: tensor<2x16x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) -> tensor<3x3x5xf32> {
  %0 = stablehlo.convolution(%a, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x16x3xf32>, tensor<2x16x5xf32>) -> tensor<3x3x5xf32>
  return %0 : tensor<3x3x5xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @main(%arg0: tensor<2x14x3xf32>
// CHECK: sdy.reshard %arg0 <@mesh, [{}, {}, {}]>
// WARN: warning[SH0310]: stablehlo.convolution needs dimension 1 of operand 0 replicated, so the operand is all-gathered: tensor<2x14x3xf32>, sharded [{}, {"x"}, {}], 336 B
func.func @main(
    %a: tensor<2x14x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
    %g: tensor<2x14x5xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}) -> tensor<3x3x5xf32> {
  %0 = stablehlo.convolution(%a, %g) dim_numbers = [f, 0, b]x[i, 0, o]->[0, b, f], window = {pad = [[1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<2x14x3xf32>, tensor<2x14x5xf32>) -> tensor<3x3x5xf32>
  return %0 : tensor<3x3x5xf32>
}
