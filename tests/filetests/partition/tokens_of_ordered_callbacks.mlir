// Tokens are arguments and results as before: they hold no data, which the manifest records.
// RUN: shardc partition %s -o %t.mlir --manifest %t.json 2>%t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=JSON < %t.json
// RUN: FileCheck %s --check-prefix=WARN < %t.err

sdy.mesh @mesh = <["x"=2, "y"=4]>
sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>

// WARN: warning[SH0316]: stablehlo.custom_call @xla_ffi_python_cpu_callback has a side effect
// CHECK: @main(%arg0: !stablehlo.token {jax.token = true}, %arg1: tensor<8x4xf32>) -> (!stablehlo.token {jax.token = true}, tensor<8x4xf32>
// CHECK-COUNT-2: "stablehlo.all_gather"
// CHECK: %[[CALL:.*]]:2 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg0, %{{[0-9]+}})
// CHECK-SAME: (!stablehlo.token, tensor<16x16xf32>) -> (!stablehlo.token, tensor<f32>)
// CHECK: return %[[CALL]]#0,
// JSON: "inputs": [
// JSON: "dtype": "token",
// JSON-NEXT: "global_shape": [],
// JSON-NEXT: "local_shape": [],
// JSON-NEXT: "spec": []
// JSON: "dtype": "f32"
// JSON: "outputs": [
// JSON: "dtype": "token"
func.func public @main(
    %arg0: !stablehlo.token {jax.token = true},
    %arg1: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>})
    -> (!stablehlo.token {jax.token = true}, tensor<16x16xf32> {jax.result_info = "result"}) {
  %0:2 = stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg0, %arg1) {has_side_effect = true, mhlo.backend_config = {index = 0 : ui64}, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_0, []>, <@maximal_mesh_0, []>]>} : (!stablehlo.token, tensor<16x16xf32>) -> (!stablehlo.token, tensor<f32>)
  %1 = stablehlo.broadcast_in_dim %0#1, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
  %2 = stablehlo.add %arg1, %1 : tensor<16x16xf32>
  return %0#0, %2 : !stablehlo.token, tensor<16x16xf32>
}
