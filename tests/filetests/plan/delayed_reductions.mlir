// The gradient of a low-rank update is used only by matmuls with its two factors: the all-reduce is deferred past
// these matmuls, whose results are smaller. A gradient with other users is all-reduced first.
// RUN: shardc opt %s --passes propagate,plan | FileCheck %s

sdy.mesh @mesh = <["data"=4]>

// CHECK-LABEL: func.func @main
func.func @main(
    %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %dy: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %a: tensor<64x4xf32>, %b: tensor<4x64xf32>) -> (tensor<64x4xf32>, tensor<4x64xf32>, tensor<64x64xf32>) {
  // CHECK: %[[DW:.*]] = stablehlo.dot_general %arg0, %arg1, {{.*}}unreduced={"data"}
  // CHECK-NOT: sdy.reshard
  %0 = stablehlo.dot_general %x, %dy, contracting_dims = [0] x [0] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  %two = stablehlo.constant dense<2.0> : tensor<64x64xf32>
  // CHECK: stablehlo.multiply %[[DW]], {{.*}}unreduced={"data"}
  %scaled = stablehlo.multiply %0, %two : tensor<64x64xf32>
  // CHECK: %[[DA:.*]] = stablehlo.dot_general {{.*}}unreduced={"data"}{{.*}} -> tensor<64x4xf32>
  %da = stablehlo.dot_general %scaled, %b, contracting_dims = [1] x [1] : (tensor<64x64xf32>, tensor<4x64xf32>) -> tensor<64x4xf32>
  // CHECK: sdy.reshard %[[DA]] <@mesh, [{}, {}]>
  // CHECK: stablehlo.dot_general {{.*}}unreduced={"data"}{{.*}} -> tensor<4x64xf32>
  %db = stablehlo.dot_general %a, %scaled, contracting_dims = [0] x [0] : (tensor<64x4xf32>, tensor<64x64xf32>) -> tensor<4x64xf32>
  // CHECK: %[[WHOLE:.*]] = stablehlo.dot_general %arg1, %arg0
  // CHECK: sdy.reshard %[[WHOLE]]
  %1 = stablehlo.dot_general %dy, %x, contracting_dims = [0] x [0] : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<64x64xf32>
  return %da, %db, %1 : tensor<64x4xf32>, tensor<4x64xf32>, tensor<64x64xf32>
}
