// The sharding of an operation without results names a mesh; it is removed with the mesh.
// RUN: shardc partition %s -o - 2>/dev/null | FileCheck %s --implicit-check-not=sdy
// RUN: shardc partition %s --spmd-mode partition -o - 2>/dev/null | FileCheck %s --implicit-check-not=sdy
sdy.mesh @mesh = <["x"=2]>
sdy.mesh @maximal_mesh_0 = <[], device_ids=[0]>
func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  // CHECK: stablehlo.custom_call @xla_ffi_python_cpu_callback
  stablehlo.custom_call @xla_ffi_python_cpu_callback(%arg0) {has_side_effect = true, sdy.sharding = #sdy.sharding_per_value<[<@maximal_mesh_0, []>]>} : (tensor<8xf32>) -> ()
  return %arg0 : tensor<8xf32>
}
