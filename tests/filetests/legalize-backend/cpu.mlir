// For XLA's CPU client, collectives in a loop are ordered relative to independent collectives before and after it.
// The result of an FFT is row-major.
// RUN: shardc opt %s --passes 'legalize-backend{target=cpu}' | FileCheck %s
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --check-prefix=ANY

sdy.mesh @mesh = <["x"=2]>

// ANY-NOT: stablehlo.select
// ANY-NOT: LayoutConstraint
// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4x8xf32>, %y: tensor<4x2xcomplex<f32>>, %z: tensor<4xf32>) -> (tensor<4x8xf32>, tensor<8x2xcomplex<f32>>, tensor<8xf32>, tensor<8x8xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  // CHECK: %[[FFT:.*]] = stablehlo.fft %arg1
  // CHECK-NEXT: %[[PINNED:.*]] = stablehlo.custom_call @LayoutConstraint(%[[FFT]]) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}
  // CHECK-NEXT: %[[BEFORE:.*]] = "stablehlo.all_gather"(%[[PINNED]])
  %f = stablehlo.fft %y, type = FFT, length = [2] : (tensor<4x2xcomplex<f32>>) -> tensor<4x2xcomplex<f32>>
  %g = "stablehlo.all_gather"(%f) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x2xcomplex<f32>>) -> tensor<8x2xcomplex<f32>>
  // CHECK-NEXT: %[[SLICE:.*]] = stablehlo.slice %[[BEFORE]] [0:1, 0:1]
  // CHECK-NEXT: %[[FIRST:.*]] = stablehlo.reshape %[[SLICE]]
  // CHECK-NEXT: %[[REAL:.*]] = stablehlo.real %[[FIRST]]
  // CHECK: %[[NONZERO:.*]] = stablehlo.compare NE, %[[REAL]]
  // CHECK-NEXT: %[[BIT:.*]] = stablehlo.convert %[[NONZERO]] : (tensor<i1>) -> tensor<ui32>
  // CHECK: %[[NEVER:.*]] = stablehlo.compare GT, %[[BIT]], %{{.*}}, UNSIGNED
  // CHECK: %[[START:.*]] = stablehlo.select %[[NEVER]], %{{.*}}, %arg0
  // CHECK: %[[LOOP:.*]]:2 = stablehlo.while(%{{.*}} = %c, %{{.*}} = %[[START]])
  %l:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4x8xf32>
  cond {
    %t = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    // CHECK: %[[INNER:.*]] = "stablehlo.all_gather"(%{{.*}})
    // CHECK-NEXT: stablehlo.slice %[[INNER]] [0:4, 0:8]
    %w = "stablehlo.all_gather"(%v) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
    %s = stablehlo.slice %w [0:4, 0:8] : (tensor<8x8xf32>) -> tensor<4x8xf32>
    stablehlo.return %n, %s : tensor<i32>, tensor<4x8xf32>
  }
  // CHECK: stablehlo.slice %[[LOOP]]#1 [0:1, 0:1]
  // CHECK: %[[LATER:.*]] = stablehlo.select %{{.*}}, %{{.*}}, %arg2
  // CHECK-NEXT: "stablehlo.all_gather"(%[[LATER]])
  %a = "stablehlo.all_gather"(%z) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4xf32>) -> tensor<8xf32>
  // A user of the loop's result is already ordered after it.
  // CHECK-NEXT: "stablehlo.all_gather"(%[[LOOP]]#1)
  %b = "stablehlo.all_gather"(%l#1) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x8xf32>) -> tensor<8x8xf32>
  return %l#1, %g, %a, %b : tensor<4x8xf32>, tensor<8x2xcomplex<f32>>, tensor<8xf32>, tensor<8x8xf32>
}
