// Windows of quantized tensors that span the whole dimension span the local block.
// RUN: shardc partition %s -o - | FileCheck %s --implicit-check-not=all_gather

!q = !quant.uniform<i8:f32, 0.5:3>

sdy.mesh @mesh = <["x"=2]>

// CHECK: "stablehlo.gather"(%arg0, %arg1) {{.*}}slice_sizes = array<i64: 1, 4, 10>{{.*}} (tensor<10x4x10x!quant.uniform<i8:f32, 5.000000e-01:3>>, tensor<1xi32>) -> tensor<4x10x
// CHECK: stablehlo.dynamic_slice %arg0, {{.*}} sizes = [3, 4, 10]
// CHECK: stablehlo.dynamic_update_slice %arg0, %arg3, %arg2
func.func @main(%x: tensor<10x8x10x!q> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %i: tensor<1xi32>,
    %s: tensor<i32>, %u: tensor<1x8x10x!q> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>})
    -> (tensor<8x10x!q>, tensor<3x8x10x!q>, tensor<10x8x10x!q>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 8, 10>}> : (tensor<10x8x10x!q>, tensor<1xi32>) -> tensor<8x10x!q>
  %1 = stablehlo.dynamic_slice %x, %s, %zero, %zero, sizes = [3, 8, 10] : (tensor<10x8x10x!q>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<3x8x10x!q>
  %2 = stablehlo.dynamic_update_slice %x, %u, %s, %zero, %zero : (tensor<10x8x10x!q>, tensor<1x8x10x!q>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<10x8x10x!q>
  return %0, %1, %2 : tensor<8x10x!q>, tensor<3x8x10x!q>, tensor<10x8x10x!q>
}
