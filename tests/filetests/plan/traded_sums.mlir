// The sum of a product over a split dimension is not made where exchanging the operands sends less: one is gathered, the other
// moved by an all-to-all, and the parts of the result are gathered.
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

// Sums that are added are completed together, and addends that somebody else reads are needed.
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
