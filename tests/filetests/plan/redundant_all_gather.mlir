// A value that a constraint all-gathers, and whose only user needs the original sharding, is not all-gathered.
// RUN: shardc opt %s --passes propagate,plan,dce -split-input-file | FileCheck %s

sdy.mesh @mesh = <["data"=4]>

// Columns of the result are wanted in parts.
// CHECK-LABEL: func.func @in_parts
// CHECK-NOT: sdy.reshard
// CHECK: stablehlo.dot_general %arg0, %arg1,
// CHECK-NOT: sdy.reshard
func.func @in_parts(%x: tensor<64x16xf32>, %w: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>})
    -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}) {
  %whole = sdy.sharding_constraint %w <@mesh, [{}, {}]> : tensor<16x32xf32>
  %0 = stablehlo.dot_general %x, %whole, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  return %0 : tensor<64x32xf32>
}

// -----

// Something else does read the whole, which is there for both.
sdy.mesh @mesh = <["data"=4]>

// CHECK-LABEL: func.func @both
// CHECK: %[[W:.*]] = sdy.reshard %arg2 <@mesh, [{}, {}]>
// CHECK-DAG: stablehlo.dot_general %arg0, %arg2,
// CHECK-DAG: stablehlo.dot_general %arg1, %[[W]],
func.func @both(%x: tensor<64x16xf32>, %y: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<16x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>})
    -> (tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}, tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %whole = sdy.sharding_constraint %w <@mesh, [{}, {}]> : tensor<16x32xf32>
  %0 = stablehlo.dot_general %x, %whole, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  %1 = stablehlo.dot_general %y, %whole, contracting_dims = [1] x [0] : (tensor<64x16xf32>, tensor<16x32xf32>) -> tensor<64x32xf32>
  return %0, %1 : tensor<64x32xf32>, tensor<64x32xf32>
}
