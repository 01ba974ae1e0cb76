// For XLA's TPU compiler, a gradient gets the layout of its parameter: otherwise the parameter and its momentum would
// be copied to the gradient's layout and back.
// RUN: shardc opt %s --passes 'legalize-backend{target=tpu}' | FileCheck %s
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --check-prefix=ANY

sdy.mesh @mesh = <["x"=2]>

// ANY-NOT: LayoutConstraint

// An all_to_all that joins parts behind the dimension that it splits: rows are whole tiles, and lie side by side.
// CHECK-LABEL: func.func @main
func.func @main(%table: tensor<4x256xf32>, %momentum: tensor<4x256xf32>, %rows: tensor<8x128xf32>, %acts: tensor<8x128xf32>, %narrow: tensor<1024x8xf32>, %at: tensor<16x1xi32>, %added: tensor<16x8xf32>) -> (tensor<4x256xf32>, tensor<4x256xf32>, tensor<4x256xf32>, tensor<1024x8xf32>) {
  // CHECK: %[[G:.*]] = "stablehlo.all_to_all"(%arg2)
  // CHECK-NEXT: %[[PINNED:.*]] = stablehlo.custom_call @LayoutConstraint(%[[G]]) {operand_layouts = [dense<[1, 0]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]}
  // CHECK-NEXT: %[[M:.*]] = stablehlo.add %arg1, %[[PINNED]]
  // CHECK-NEXT: stablehlo.subtract %arg0, %[[M]]
  %g = "stablehlo.all_to_all"(%rows) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8x128xf32>) -> tensor<4x256xf32>
  %m = stablehlo.add %momentum, %g : tensor<4x256xf32>
  %new = stablehlo.subtract %table, %m : tensor<4x256xf32>
  // The operand of a reverse is not a gradient, and may have any layout.
  // CHECK: "stablehlo.all_to_all"(%arg3)
  // CHECK-NEXT: stablehlo.reverse
  %a = "stablehlo.all_to_all"(%acts) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<8x128xf32>) -> tensor<4x256xf32>
  %t = stablehlo.reverse %a, dims = [0] : tensor<4x256xf32>
  // A table of narrow rows lies column by column, which pads it least; rows are added in padded ones. Devices sum what is not padded.
  // CHECK: %[[S:.*]] = "stablehlo.scatter"
  // CHECK: %[[COMPACT:.*]] = stablehlo.custom_call @LayoutConstraint(%[[S]]) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[0, 1]> : tensor<2xindex>]}
  // CHECK-NEXT: "stablehlo.all_reduce"(%[[COMPACT]])
  %zero = stablehlo.constant dense<0.0> : tensor<1024x8xf32>
  %s = "stablehlo.scatter"(%zero, %at, %added) <{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %sum = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<1024x8xf32>, tensor<16x1xi32>, tensor<16x8xf32>) -> tensor<1024x8xf32>
  %r = "stablehlo.all_reduce"(%s) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %sum = stablehlo.add %l, %r : tensor<f32>
    stablehlo.return %sum : tensor<f32>
  }) : (tensor<1024x8xf32>) -> tensor<1024x8xf32>
  %n = stablehlo.subtract %narrow, %r : tensor<1024x8xf32>
  return %new, %m, %t, %n : tensor<4x256xf32>, tensor<4x256xf32>, tensor<4x256xf32>, tensor<1024x8xf32>
}
