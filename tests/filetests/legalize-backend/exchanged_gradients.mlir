// For XLA's TPU compiler a gradient that an all_to_all joins along a dimension behind the one that it splits is in row-major order:
// else the parameter and its momentum would be copied into the order of the exchange and back.
// RUN: shardc opt %s --passes 'legalize-backend{target=tpu}' | FileCheck %s
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --check-prefix=ANY

sdy.mesh @mesh = <["x"=2]>

// ANY-NOT: LayoutConstraint
// CHECK-LABEL: func.func @main
func.func @main(%table: tensor<4x256xf32>, %momentum: tensor<4x256xf32>, %rows: tensor<8x128xf32>, %acts: tensor<8x128xf32>, %narrow: tensor<4x8xf32>, %thin: tensor<8x4xf32>) -> (tensor<4x256xf32>, tensor<4x256xf32>, tensor<4x256xf32>, tensor<4x8xf32>) {
  // CHECK: %[[G:.*]] = "stablehlo.all_to_all"(%arg2)
  // CHECK-NEXT: %[[PINNED:.*]] = stablehlo.custom_call @LayoutConstraint(%[[G]]) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}
  // CHECK-NEXT: %[[M:.*]] = stablehlo.add %arg1, %[[PINNED]]
  // CHECK-NEXT: stablehlo.subtract %arg0, %[[M]]
  %g = "stablehlo.all_to_all"(%rows) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8x128xf32>) -> tensor<4x256xf32>
  %m = stablehlo.add %momentum, %g : tensor<4x256xf32>
  %new = stablehlo.subtract %table, %m : tensor<4x256xf32>
  // What an operation reads that is not one of elements may be in any order.
  // CHECK: "stablehlo.all_to_all"(%arg3)
  // CHECK-NOT: LayoutConstraint
  %a = "stablehlo.all_to_all"(%acts) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8x128xf32>) -> tensor<4x256xf32>
  %t = stablehlo.reverse %a, dims = [0] : tensor<4x256xf32>
  // Parts that do not fill a tile are written anew anyway.
  %n = "stablehlo.all_to_all"(%thin) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8x4xf32>) -> tensor<4x8xf32>
  %s = stablehlo.add %narrow, %n : tensor<4x8xf32>
  return %new, %m, %t, %s : tensor<4x256xf32>, tensor<4x256xf32>, tensor<4x256xf32>, tensor<4x8xf32>
}
