// XLA rejects mhlo.sharding on @ApproxTopK, which it expands.
// RUN: shardc partition %s --spmd-mode partition -o - 2>/dev/null | FileCheck %s
sdy.mesh @mesh = <["x"=2]>
func.func private @gt(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<i32>, %d: tensor<i32>) -> tensor<i1> {
  %0 = stablehlo.compare GT, %a, %b : (tensor<f32>, tensor<f32>) -> tensor<i1>
  return %0 : tensor<i1>
}
func.func @main(%arg0: tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<4x2xf32>, tensor<4x2xi32>) {
  %0 = stablehlo.iota dim = 1 : tensor<4x16xi32>
  %c = stablehlo.constant dense<-1> : tensor<i32>
  %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
  // CHECK: stablehlo.constant {mhlo.sharding = "{manual}"}
  // CHECK: @ApproxTopK(
  // CHECK-NOT: mhlo.sharding
  // CHECK-SAME: (tensor<2x16xf32>, tensor<2x16xi32>, tensor<f32>, tensor<i32>)
  %1:2 = stablehlo.custom_call @ApproxTopK(%arg0, %0, %cst, %c) {called_computations = [@gt], mhlo.backend_config = {aggregate_to_topk = true, is_fallback = true, recall_target = 0.949999988 : f32, reduction_dim = 1 : i64, reduction_input_size_override = -1 : i64, top_k = 2 : i64}} : (tensor<4x16xf32>, tensor<4x16xi32>, tensor<f32>, tensor<i32>) -> (tensor<4x2xf32>, tensor<4x2xi32>)
  return %1#0, %1#1 : tensor<4x2xf32>, tensor<4x2xi32>
}
