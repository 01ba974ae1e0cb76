// If parameters do not fit on each device, they are sharded; if nothing fits, the exit code is 1.
// RUN: shardc auto %s --target v5e:2x4 --memory 100MiB | FileCheck %s
// RUN: shardc auto %s --target v5e:2x4 --memory 1MiB > %t; test $? = 1
// RUN: FileCheck %s --check-prefix=NONE --input-file=%t

// CHECK: strategy {{hybrid|full}}_shard auto_wrap
// CHECK: memory up to {{.*}} of 100.0 MiB
// CHECK-NOT: it does not fit
// NONE: it does not fit; use more devices, or a smaller program or batch

func.func @main(
    %w: tensor<4096x4096xf32> {tf.aliasing_output = 0 : i32},
    %m: tensor<4096x4096xf32> {tf.aliasing_output = 1 : i32},
    %x: tensor<8192x4096xf32>) -> (tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %rate = stablehlo.constant dense<0.1> : tensor<4096x4096xf32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8192x4096xf32>, tensor<4096x4096xf32>) -> tensor<8192x4096xf32>
  %square = stablehlo.multiply %y, %y : tensor<8192x4096xf32>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<8192x4096xf32>, tensor<f32>) -> tensor<f32>
  %gradient = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<8192x4096xf32>, tensor<8192x4096xf32>) -> tensor<4096x4096xf32>
  %moment = stablehlo.add %m, %gradient : tensor<4096x4096xf32>
  %change = stablehlo.multiply %rate, %moment : tensor<4096x4096xf32>
  %next = stablehlo.subtract %w, %change : tensor<4096x4096xf32>
  return %next, %moment, %loss : tensor<4096x4096xf32>, tensor<4096x4096xf32>, tensor<f32>
}
