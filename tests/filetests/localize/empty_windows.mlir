// Every result of windows over no elements is created, not only the first.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func.func @main
func.func @main(%a: tensor<24x0xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<12x0xi8>, tensor<12x0xi8>) {
  %0 = stablehlo.constant dense<0> : tensor<i8>
  %1:2 = "stablehlo.reduce_window"(%a, %a, %0, %0) <{window_dimensions = array<i64: 2, 1>, window_strides = array<i64: 2, 1>}> ({
  ^bb0(%b: tensor<i8>, %c: tensor<i8>, %d: tensor<i8>, %e: tensor<i8>):
    %2 = stablehlo.maximum %c, %e : tensor<i8>
    stablehlo.return %2, %2 : tensor<i8>, tensor<i8>
  }) : (tensor<24x0xi8>, tensor<24x0xi8>, tensor<i8>, tensor<i8>) -> (tensor<12x0xi8>, tensor<12x0xi8>)
  // CHECK: %[[A:.*]] = stablehlo.constant dense<0> : tensor<6x0xi8>
  // CHECK: return %[[A]], %[[A]]
  return %1#0, %1#1 : tensor<12x0xi8>, tensor<12x0xi8>
}
