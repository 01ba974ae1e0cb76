// A training step as PyTorch/XLA 2.9 exports it, with annotations of `xs.mark_sharding` (docs/tasks/pytorch-xla.md): the mesh of the options
// names the axes of its tiles.
// RUN: shardc partition %s --mesh data=4,model=2 -o - | FileCheck %s
// RUN: shardc partition %s --mesh data=4,model=2 --strict -o %t.mlir

// CHECK: func.func @main(
// CHECK-SAME: tensor<16x256xf32>
// CHECK: stablehlo.all_reduce

module @IrToHlo.91 attributes {mhlo.cross_program_prefetches = [], mhlo.input_output_alias = [], mhlo.is_dynamic = false, mhlo.use_auto_spmd_partitioning = false} {
  func.func @main(%arg0: tensor<256xf32> {mhlo.sharding = "{replicated}"}, %arg1: tensor<256x1024xf32> {mhlo.sharding = "{devices=[1,2,4]0,2,4,6,1,3,5,7 last_tile_dim_replicate}"}, %arg2: tensor<1024xf32> {mhlo.sharding = "{replicated}"}, %arg3: tensor<1024x256xf32> {mhlo.sharding = "{devices=[2,1,4]0,2,4,6,1,3,5,7 last_tile_dim_replicate}"}, %arg4: tensor<64x256xf32> {mhlo.sharding = "{devices=[4,1,2]0,1,2,3,4,5,6,7 last_tile_dim_replicate}"}, %arg5: tensor<f32> {mhlo.sharding = "{replicated}"}, %arg6: tensor<f32> {mhlo.sharding = "{replicated}"}) -> (tensor<f32>, tensor<1024x256xf32>, tensor<1024xf32>, tensor<256x1024xf32>, tensor<256xf32>) {
    %cst = stablehlo.constant dense<1.000000e+00> : tensor<64x256xf32>
    %cst_0 = stablehlo.constant dense<6.10351563E-5> : tensor<f32>
    %cst_1 = stablehlo.constant dense<2.000000e+00> : tensor<64x256xf32>
    %cst_2 = stablehlo.constant dense<0.000000e+00> : tensor<64x1024xf32>
    %cst_3 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %0 = stablehlo.transpose %arg3, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[256,1024]{0,1}"} : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %1 = stablehlo.dot_general %arg4, %0, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x256xf32>, tensor<256x1024xf32>) -> tensor<64x1024xf32>
    %2 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<1024xf32>) -> tensor<64x1024xf32>
    %3 = stablehlo.add %1, %2 : tensor<64x1024xf32>
    %4 = stablehlo.maximum %3, %cst_2 : tensor<64x1024xf32>
    %5 = stablehlo.transpose %arg1, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[1024,256]{0,1}"} : (tensor<256x1024xf32>) -> tensor<1024x256xf32>
    %6 = stablehlo.dot_general %4, %5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x1024xf32>, tensor<1024x256xf32>) -> tensor<64x256xf32>
    %7 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<256xf32>) -> tensor<64x256xf32>
    %8 = stablehlo.add %6, %7 : tensor<64x256xf32>
    %9 = stablehlo.power %8, %cst_1 : tensor<64x256xf32>
    %10 = stablehlo.reduce(%9 init: %cst_3) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x256xf32>, tensor<f32>) -> tensor<f32>
    %11 = stablehlo.multiply %10, %cst_0 : tensor<f32>
    %12 = stablehlo.transpose %arg4, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[256,64]{0,1}"} : (tensor<64x256xf32>) -> tensor<256x64xf32>
    %13 = stablehlo.compare  GT, %4, %cst_2 : (tensor<64x1024xf32>, tensor<64x1024xf32>) -> tensor<64x1024xi1>
    %14 = stablehlo.broadcast_in_dim %arg6, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %15 = stablehlo.divide %cst, %14 : tensor<64x256xf32>
    %16 = stablehlo.power %8, %cst : tensor<64x256xf32>
    %17 = stablehlo.broadcast_in_dim %arg5, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %18 = stablehlo.multiply %16, %17 : tensor<64x256xf32>
    %19 = stablehlo.multiply %15, %18 : tensor<64x256xf32>
    %20 = stablehlo.dot_general %19, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<64x256xf32>, tensor<256x1024xf32>) -> tensor<64x1024xf32>
    %21 = stablehlo.select %13, %20, %cst_2 : tensor<64x1024xi1>, tensor<64x1024xf32>
    %22 = stablehlo.dot_general %12, %21, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<256x64xf32>, tensor<64x1024xf32>) -> tensor<256x1024xf32>
    %23 = stablehlo.transpose %22, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[1024,256]{0,1}"} : (tensor<256x1024xf32>) -> tensor<1024x256xf32>
    %24 = stablehlo.reduce(%21 init: %cst_3) applies stablehlo.add across dimensions = [0] : (tensor<64x1024xf32>, tensor<f32>) -> tensor<1024xf32>
    %25 = stablehlo.transpose %4, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[1024,64]{0,1}"} : (tensor<64x1024xf32>) -> tensor<1024x64xf32>
    %26 = stablehlo.dot_general %25, %19, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<1024x64xf32>, tensor<64x256xf32>) -> tensor<1024x256xf32>
    %27 = stablehlo.transpose %26, dims = [1, 0] {result_layout = dense<[0, 1]> : tensor<2xindex>, xla_shape = "f32[256,1024]{0,1}"} : (tensor<1024x256xf32>) -> tensor<256x1024xf32>
    %28 = stablehlo.reduce(%19 init: %cst_3) applies stablehlo.add across dimensions = [0] : (tensor<64x256xf32>, tensor<f32>) -> tensor<256xf32>
    return %11, %23, %24, %27, %28 : tensor<f32>, tensor<1024x256xf32>, tensor<1024xf32>, tensor<256x1024xf32>, tensor<256xf32>
  }
}
