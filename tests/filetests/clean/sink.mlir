// The gradients of two adjacent parameters are slices of one matmul. All-reduced after the slices, they are only
// accumulated in the loop, so the all-reduces move behind it.
// RUN: shardc opt %s --passes propagate,plan,merge-reductions,defer-sums,verify-collectives | FileCheck %s
// RUN: shardc partition %s -o %t --summary 2>&1 | FileCheck %s --check-prefix=SENT

// SENT: all_reduce 1 0
sdy.mesh @mesh = <["data"=4]>

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %dy: tensor<8x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<4x6xf32>, tensor<6x6xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %a = stablehlo.constant dense<0.0> : tensor<4x6xf32>
  %b = stablehlo.constant dense<0.0> : tensor<6x6xf32>
  // CHECK: stablehlo.while
  %l:5 = stablehlo.while(%i = %zero, %sa = %a, %sb = %b, %u = %x, %v = %dy) : tensor<i32>, tensor<4x6xf32>, tensor<6x6xf32>, tensor<8x6xf32>, tensor<8x10xf32>
  cond {
    %t = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %n = stablehlo.add %i, %one : tensor<i32>
    // CHECK: stablehlo.dot_general
    %p = stablehlo.dot_general %u, %v, contracting_dims = [0] x [0] : (tensor<8x6xf32>, tensor<8x10xf32>) -> tensor<6x10xf32>
    // CHECK-NOT: sdy.reshard
    // CHECK: stablehlo.transpose {{.*}}unreduced={"data"}
    %q = stablehlo.transpose %p, dims = [1, 0] : (tensor<6x10xf32>) -> tensor<10x6xf32>
    // CHECK: stablehlo.slice {{.*}}unreduced={"data"}
    %c = stablehlo.slice %q [0:4, 0:6] : (tensor<10x6xf32>) -> tensor<4x6xf32>
    %d = stablehlo.slice %q [4:10, 0:6] : (tensor<10x6xf32>) -> tensor<6x6xf32>
    %na = stablehlo.add %sa, %c : tensor<4x6xf32>
    %nb = stablehlo.add %sb, %d : tensor<6x6xf32>
    // CHECK: stablehlo.return
    // CHECK-NEXT: }
    // CHECK: sdy.reshard
    stablehlo.return %n, %na, %nb, %u, %v : tensor<i32>, tensor<4x6xf32>, tensor<6x6xf32>, tensor<8x6xf32>, tensor<8x10xf32>
  }
  return %l#1, %l#2 : tensor<4x6xf32>, tensor<6x6xf32>
}
