// XLA represents complex and 64-bit numbers as pairs on TPUs, and rejects layout constraints on them: gradients of
// these types keep their layout.
// RUN: shardc opt %s --passes 'legalize-backend{target=tpu}' | FileCheck %s --implicit-check-not=LayoutConstraint

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @main
// CHECK-COUNT-2: "stablehlo.all_reduce"
func.func @main(%modes: tensor<4x16x8xcomplex<f32>>, %wide: tensor<16x8xf64>, %dm: tensor<4x16x8xcomplex<f32>>, %dw: tensor<16x8xf64>) -> (tensor<4x16x8xcomplex<f32>>, tensor<16x8xf64>) {
  %m = "stablehlo.all_reduce"(%dm) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%l: tensor<complex<f32>>, %r: tensor<complex<f32>>):
    %s = stablehlo.add %l, %r : tensor<complex<f32>>
    stablehlo.return %s : tensor<complex<f32>>
  }) : (tensor<4x16x8xcomplex<f32>>) -> tensor<4x16x8xcomplex<f32>>
  %w = "stablehlo.all_reduce"(%dw) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%l: tensor<f64>, %r: tensor<f64>):
    %s = stablehlo.add %l, %r : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) : (tensor<16x8xf64>) -> tensor<16x8xf64>
  %new_modes = stablehlo.subtract %modes, %m : tensor<4x16x8xcomplex<f32>>
  %new_wide = stablehlo.subtract %wide, %w : tensor<16x8xf64>
  return %new_modes, %new_wide : tensor<4x16x8xcomplex<f32>>, tensor<16x8xf64>
}
