// Estimates of strategies, on the mesh of the program, in the memory of a machine: a TPU pads rows of 32 numbers to
// tiles of 128, and XLA's compilers need more memory than the live values.
// RUN: shardc fsdp estimate %s | FileCheck %s
// RUN: shardc fsdp estimate %s --mesh fsdp=4 --target v5e | FileCheck %s --check-prefix=TPU
// RUN: shardc fsdp estimate %s --target h100 --format json | FileCheck %s --check-prefix=GPU
// RUN: not shardc fsdp estimate %s --mesh fsdp=8 2>&1 | FileCheck %s --check-prefix=OTHER

// CHECK: strategy parameters accumulators optimizer others temporaries total sent per step
// CHECK: no_shard 4.0 KiB 0 B 4.0 KiB 4.0 KiB 8.0 KiB 20.0 KiB 6.0 KiB
// CHECK: zero1 4.0 KiB 0 B 1.0 KiB 4.0 KiB 8.0 KiB 17.0 KiB 6.0 KiB
// CHECK: full_shard 1.0 KiB 0 B 1.0 KiB 4.0 KiB 8.0 KiB 14.0 KiB 6.0 KiB
// CHECK-NOT: hybrid_shard
// TPU: no_shard 16.0 KiB 0 B 16.0 KiB 16.0 KiB
// TPU: full_shard 4.0 KiB 0 B 4.0 KiB 16.0 KiB
// GPU: "strategy": "no_shard"
// GPU: "temporaries": 8200
// OTHER: the module already has a different mesh: @mesh
sdy.mesh @mesh = <["fsdp"=4]>
func.func @main(%w: tensor<32x32xf32> {tf.aliasing_output = 0 : i32}, %m: tensor<32x32xf32> {tf.aliasing_output = 1 : i32}, %x: tensor<128x32xf32>)
    -> (tensor<32x32xf32>, tensor<32x32xf32>, tensor<f32>) {
  %nothing = stablehlo.constant dense<0.0> : tensor<f32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<128x32xf32>, tensor<32x32xf32>) -> tensor<128x32xf32>
  %yy = stablehlo.multiply %y, %y : tensor<128x32xf32>
  %loss = stablehlo.reduce(%yy init: %nothing) applies stablehlo.add across dimensions = [0, 1] : (tensor<128x32xf32>, tensor<f32>) -> tensor<f32>
  %g = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<128x32xf32>, tensor<128x32xf32>) -> tensor<32x32xf32>
  %m1 = stablehlo.add %m, %g : tensor<32x32xf32>
  %w1 = stablehlo.subtract %w, %m1 : tensor<32x32xf32>
  return %w1, %m1, %loss : tensor<32x32xf32>, tensor<32x32xf32>, tensor<f32>
}
