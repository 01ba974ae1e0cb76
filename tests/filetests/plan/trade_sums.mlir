// A matmul over a sharded contracting dimension needs no all-reduce if exchanging its operands sends less: one is
// all-gathered, the other is resharded by an all-to-all, and the shards of the result are all-gathered.
// RUN: shardc opt %s --passes propagate,plan,dce,merge-reductions,trade-sums -split-input-file | FileCheck %s
// RUN: shardc partition %S/../../programs/small/traded_sums.mlir -o %t --summary 2>&1 | FileCheck %s --check-prefix=SENT
// SENT: all_reduce 1 0 1 18.0 MiB

sdy.mesh @mesh = <["data"=8]>

// The gradient of a weight, which is transposed before anybody reads it.
// CHECK-LABEL: func.func @weight
// CHECK: %[[X:.*]] = sdy.reshard %arg0 <@mesh, [{}, {"data"}]> : tensor<16x4096xf32>
// CHECK: %[[G:.*]] = sdy.reshard %arg1 <@mesh, [{}, {}]> : tensor<16x2048xf32>
// CHECK: %[[P:.*]] = stablehlo.dot_general %[[X]], %[[G]], {{.*}}[{"data"}, {}]>]>} :
// CHECK: %[[T:.*]] = stablehlo.transpose %[[P]], {{.*}}[{}, {"data"}]>]>} :
// CHECK: sdy.reshard %[[T]] <@mesh, [{}, {}]> : tensor<2048x4096xf32>
func.func @weight(%x: tensor<16x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %g: tensor<16x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<2048x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<16x4096xf32>, tensor<16x2048xf32>) -> tensor<4096x2048xf32>
  %1 = stablehlo.transpose %0, dims = [1, 0] : (tensor<4096x2048xf32>) -> tensor<2048x4096xf32>
  return %1 : tensor<2048x4096xf32>
}

// -----

// A large batch is summed over: its operands are more than the weight.
sdy.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @batch
// CHECK: stablehlo.dot_general %arg0, %arg1, {{.*}}unreduced={"data"}
func.func @batch(%x: tensor<40960x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %g: tensor<40960x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4096x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<40960x4096xf32>, tensor<40960x2048xf32>) -> tensor<4096x2048xf32>
  return %0 : tensor<4096x2048xf32>
}

// -----

// A weight of less than 4 MiB, too: its sum goes with others, and three collectives on the way take longer.
sdy.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @small
// CHECK: stablehlo.dot_general %arg0, %arg1, {{.*}}unreduced={"data"}
func.func @small(%x: tensor<8x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %g: tensor<8x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<1024x1024xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<8x1024xf32>, tensor<8x1024xf32>) -> tensor<1024x1024xf32>
  return %0 : tensor<1024x1024xf32>
}

// -----

// Unreduced values that are added are completed together; partial sums with other users are kept.
sdy.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @added
// CHECK: %[[A:.*]] = stablehlo.dot_general %arg0, %arg1, {{.*}}unreduced={"data"}
// CHECK: %[[B:.*]] = stablehlo.dot_general %arg0, %{{.*}}, {{.*}}unreduced={"data"}
// CHECK: stablehlo.add %[[A]], %[[B]] {{.*}}unreduced={"data"}
func.func @added(%x: tensor<16x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %g: tensor<16x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4096x2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = stablehlo.dot_general %x, %g, contracting_dims = [0] x [0] : (tensor<16x4096xf32>, tensor<16x2048xf32>) -> tensor<4096x2048xf32>
  %1 = stablehlo.tanh %g : tensor<16x2048xf32>
  %2 = stablehlo.dot_general %x, %1, contracting_dims = [0] x [0] : (tensor<16x4096xf32>, tensor<16x2048xf32>) -> tensor<4096x2048xf32>
  %3 = stablehlo.add %0, %2 : tensor<4096x2048xf32>
  return %3 : tensor<4096x2048xf32>
}

// -----

// The gradient of a table: rows that are added are exchanged, each device adds parts of all, and the parts of the table are exchanged.
sdy.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @table
// CHECK-DAG: %[[I:.*]] = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<32768x1xi32>
// CHECK-DAG: %[[U:.*]] = sdy.reshard %arg1 <@mesh, [{}, {"data"}]> : tensor<32768x128xf32>
// CHECK: %[[S:.*]] = "stablehlo.scatter"(%{{.*}}, %[[I]], %[[U]])
// CHECK: {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"data"}]>]>} : (tensor<16384x128xf32>,
// CHECK: sdy.reshard %[[S]] <@mesh, [{"data"}, {}]> : tensor<16384x128xf32>
func.func @table(%i: tensor<32768x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %u: tensor<32768x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<16384x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %zero = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<16384x128xf32>
  %0 = "stablehlo.scatter"(%zero, %i, %u) <{indices_are_sorted = false, unique_indices = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%a: tensor<f32>, %b: tensor<f32>):
    %s = stablehlo.add %a, %b : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<16384x128xf32>, tensor<32768x1xi32>, tensor<32768x128xf32>) -> tensor<16384x128xf32>
  return %0 : tensor<16384x128xf32>
}
