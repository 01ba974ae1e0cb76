// Custom calls and operations on each matrix or row of a batch work on shards of the batch; dimensions that they need
// whole are all-gathered.
// RUN: shardc partition %s -o - 2>/dev/null | FileCheck %s

sdy.mesh @mesh = <["x"=4, "y"=2]>

// CHECK: func.func @main(%arg0: tensor<2x6x6xf32>, %arg1: tensor<2x16xf32>
func.func @main(%a: tensor<8x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}, {}]>},
                %b: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
                %c: tensor<8x6x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}, {}]>})
    -> (tensor<8x6x6xf32>, tensor<8x6xf32>, tensor<8x4xf32>, tensor<8x6x6xf32>) {
  // CHECK: stablehlo.custom_call @lapack_sgeqrf_ffi(%arg0) {{.*}}(tensor<2x6x6xf32>) -> (tensor<2x6x6xf32>, tensor<2x6xf32>)
  %0:2 = stablehlo.custom_call @lapack_sgeqrf_ffi(%a) {mhlo.frontend_attributes = {num_batch_dims = "1"}} : (tensor<8x6x6xf32>) -> (tensor<8x6x6xf32>, tensor<8x6xf32>)
  // CHECK: chlo.top_k(%arg1, k = 4) : tensor<2x16xf32>
  %v, %i = chlo.top_k(%b, k = 4) : tensor<8x16xf32> -> (tensor<8x4xf32>, tensor<8x4xi32>)
  // Shardings propagate through the matrices of this one, which needs them whole.
  // CHECK: stablehlo.custom_call @Cholesky(%{{.*}}) : (tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
  %1 = stablehlo.custom_call @Cholesky(%c) : (tensor<8x6x6xf32>) -> tensor<8x6x6xf32>
  return %0#0, %0#1, %v, %1 : tensor<8x6x6xf32>, tensor<8x6xf32>, tensor<8x4xf32>, tensor<8x6x6xf32>
}
