// The TPU compiler has no complex reduce-scatter: both parts are reduce-scattered side by side. Other clients get it unchanged.
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s
// RUN: shardc opt %s --passes 'legalize-backend{target=cpu}' | FileCheck %s --check-prefix=CPU

// CHECK: %[[RE:.*]] = stablehlo.real %arg0
// CHECK: %[[IM:.*]] = stablehlo.imag %arg0
// CHECK: stablehlo.concatenate %{{.*}}, %{{.*}}, dim = 2 : (tensor<8x6x1xf32>, tensor<8x6x1xf32>) -> tensor<8x6x2xf32>
// CHECK: "stablehlo.reduce_scatter"
// CHECK-SAME: scatter_dimension = 1
// CHECK: (tensor<8x6x2xf32>) -> tensor<8x3x2xf32>
// CHECK: stablehlo.slice %{{.*}} [0:8, 0:3, 1:2]
// CHECK: stablehlo.complex %{{.*}}, %{{.*}} : tensor<8x3xcomplex<f32>>
// CPU: (tensor<8x6xcomplex<f32>>) -> tensor<8x3xcomplex<f32>>
module attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
func.func @main(%x: tensor<8x6xcomplex<f32>>) -> tensor<8x3xcomplex<f32>> {
  %0 = "stablehlo.reduce_scatter"(%x) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 1 : i64}> ({
  ^bb0(%a: tensor<complex<f32>>, %b: tensor<complex<f32>>):
    %s = stablehlo.add %a, %b : tensor<complex<f32>>
    stablehlo.return %s : tensor<complex<f32>>
  }) : (tensor<8x6xcomplex<f32>>) -> tensor<8x3xcomplex<f32>>
  return %0 : tensor<8x3xcomplex<f32>>
}
}
