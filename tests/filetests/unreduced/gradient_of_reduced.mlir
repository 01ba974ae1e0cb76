// The gradient of replicated parameters is unreduced, and so is its transpose: no communication.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc verify %s

// CHECK: %[[G:.*]] = stablehlo.dot_general %{{.*}}, %arg1
// CHECK-NEXT: %[[T:.*]] = stablehlo.transpose %[[G]]
// CHECK-NEXT: return %[[T]]
// CHECK-NOT: all_reduce

module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=8]> {stablehlo.mesh = {axes = [{name = "data", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<16x16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"data"}>}) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %2 = stablehlo.tanh %1 : tensor<32x16xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %4 = sdy.sharding_constraint %cst <@mesh, []> : tensor<f32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %6 = sdy.sharding_constraint %5 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %7 = stablehlo.subtract %6, %3 : tensor<32x16xf32>
    %8 = sdy.sharding_constraint %7 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %cst_0 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %9 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %10 = sdy.sharding_constraint %9 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %11 = stablehlo.multiply %10, %3 : tensor<32x16xf32>
    %12 = sdy.sharding_constraint %11 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %13 = sdy.sharding_constraint %cst_1 <@mesh, []> : tensor<f32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [] : (tensor<f32>) -> tensor<32x16xf32>
    %15 = sdy.sharding_constraint %14 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %16 = stablehlo.multiply %15, %12 : tensor<32x16xf32>
    %17 = sdy.sharding_constraint %16 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %18 = stablehlo.multiply %17, %8 : tensor<32x16xf32>
    %19 = sdy.sharding_constraint %18 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %20 = stablehlo.multiply %19, %3 : tensor<32x16xf32>
    %21 = sdy.sharding_constraint %20 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %22 = stablehlo.add %19, %21 : tensor<32x16xf32>
    %23 = sdy.sharding_constraint %22 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %24 = stablehlo.dot_general %23, %arg1, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
    %25 = sdy.sharding_constraint %24 <@mesh, [{}, {}], unreduced={"data"}> : tensor<16x16xf32>
    %26 = stablehlo.transpose %25, dims = [1, 0] : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %27 = sdy.sharding_constraint %26 <@mesh, [{}, {}], unreduced={"data"}> : tensor<16x16xf32>
    return %27 : tensor<16x16xf32>
  }
}
