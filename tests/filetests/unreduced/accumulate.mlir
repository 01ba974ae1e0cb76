// Gradients that are accumulated over microbatches are carried unreduced, starting from zeros: one all-reduce after the loop.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc verify %s

// CHECK: stablehlo.while
// CHECK-NOT: all_reduce
// CHECK-NOT: stablehlo.select
// CHECK: stablehlo.return
// CHECK: "stablehlo.all_reduce"(%1#3)
// CHECK-NOT: all_reduce

module @jit_f attributes {mhlo.num_partitions = 8 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["data"=8]> {stablehlo.mesh = {axes = [{name = "data", size = 8 : i64}]}}
  func.func public @main(%arg0: tensor<16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}, %arg1: tensor<4x32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"data"}, {}]>}) -> (tensor<16x16xf32> {jax.result_info = "result", sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {}]> : tensor<16x16xf32>
    %2 = sdy.sharding_constraint %1 <@mesh, [{}, {}], unreduced={"data"}> : tensor<16x16xf32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %3:4 = stablehlo.while(%iterArg = %arg1, %iterArg_1 = %arg0, %iterArg_2 = %c, %iterArg_3 = %2) : tensor<4x32x16xf32>, tensor<16x16xf32>, tensor<i32>, tensor<16x16xf32>
    cond {
      %c_4 = stablehlo.constant dense<4> : tensor<i32>
      %14 = sdy.sharding_constraint %iterArg_2 <@mesh, []> : tensor<i32>
      %15 = sdy.sharding_constraint %c_4 <@mesh, []> : tensor<i32>
      %16 = stablehlo.compare LT, %14, %15, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %16 : tensor<i1>
    } do {
      %14 = func.call @dynamic_index_in_dim(%iterArg, %iterArg_2) : (tensor<4x32x16xf32>, tensor<i32>) -> tensor<32x16xf32>
      %15 = func.call @closed_call(%iterArg_1, %iterArg_3, %14) : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
      %c_4 = stablehlo.constant dense<1> : tensor<i32>
      %16 = sdy.sharding_constraint %iterArg_2 <@mesh, []> : tensor<i32>
      %17 = sdy.sharding_constraint %c_4 <@mesh, []> : tensor<i32>
      %18 = stablehlo.add %16, %17 : tensor<i32>
      %19 = sdy.sharding_constraint %18 <@mesh, []> : tensor<i32>
      stablehlo.return %iterArg, %iterArg_1, %19, %15 : tensor<4x32x16xf32>, tensor<16x16xf32>, tensor<i32>, tensor<16x16xf32>
    }
    %4 = sdy.sharding_constraint %3#2 <@mesh, []> : tensor<i32>
    %5 = sdy.sharding_constraint %3#3 <@mesh, [{}, {}], unreduced={"data"}> : tensor<16x16xf32>
    %6 = sdy.sharding_constraint %5 <@mesh, [{}, {}], unreduced={"data"}> : tensor<16x16xf32>
    %7 = sdy.sharding_constraint %6 <@mesh, [{}, {}]> : tensor<16x16xf32>
    %cst_0 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %8 = stablehlo.broadcast_in_dim %cst_0, dims = [] : (tensor<f32>) -> tensor<16x16xf32>
    %9 = sdy.sharding_constraint %8 <@mesh, [{}, {}]> : tensor<16x16xf32>
    %10 = stablehlo.multiply %9, %7 : tensor<16x16xf32>
    %11 = sdy.sharding_constraint %10 <@mesh, [{}, {}]> : tensor<16x16xf32>
    %12 = stablehlo.subtract %arg0, %11 : tensor<16x16xf32>
    %13 = sdy.sharding_constraint %12 <@mesh, [{}, {}]> : tensor<16x16xf32>
    return %13 : tensor<16x16xf32>
  }
  func.func private @dynamic_index_in_dim(%arg0: tensor<4x32x16xf32>, %arg1: tensor<i32>) -> tensor<32x16xf32> {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %c_0 = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %arg0, %arg1, %c, %c_0, sizes = [1, 32, 16] : (tensor<4x32x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x32x16xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"data"}, {}]> : tensor<1x32x16xf32>
    %2 = stablehlo.reshape %1 : (tensor<1x32x16xf32>) -> tensor<32x16xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    return %3 : tensor<32x16xf32>
  }
  func.func private @closed_call(%arg0: tensor<16x16xf32>, %arg1: tensor<16x16xf32>, %arg2: tensor<32x16xf32>) -> tensor<16x16xf32> {
    %0 = stablehlo.dot_general %arg2, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %2 = stablehlo.tanh %1 : tensor<32x16xf32>
    %3 = sdy.sharding_constraint %2 <@mesh, [{"data"}, {}]> : tensor<32x16xf32>
    %4 = stablehlo.dot_general %arg2, %3, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<16x16xf32>
    %5 = sdy.sharding_constraint %4 <@mesh, [{}, {}], unreduced={"data"}> : tensor<16x16xf32>
    %6 = stablehlo.add %arg1, %5 : tensor<16x16xf32>
    %7 = sdy.sharding_constraint %6 <@mesh, [{}, {}], unreduced={"data"}> : tensor<16x16xf32>
    return %7 : tensor<16x16xf32>
  }
}
