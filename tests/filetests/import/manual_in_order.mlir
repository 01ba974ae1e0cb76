// A manual computation is placed after the producers of its operands and before all users, whatever the order of the boundary calls.
// RUN: shardc opt %s --passes import-gspmd | FileCheck %s

// CHECK-LABEL: func.func @main
// CHECK-NEXT: %0 = stablehlo.negate %arg1
// CHECK-NEXT: %1:2 = sdy.manual_computation(%arg0, %0)
// CHECK:      %2 = stablehlo.cosine %1#0
// CHECK-NEXT: return %2, %1#1
func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.custom_call @SPMDFullToShardShape(%0) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  %2 = stablehlo.sine %1 : tensor<2xf32>
  %3 = stablehlo.custom_call @SPMDShardToFullShape(%2) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
  %4 = stablehlo.cosine %3 : tensor<8xf32>
  %5 = stablehlo.negate %b : tensor<8xf32>
  %6 = stablehlo.custom_call @Sharding(%5) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<8xf32>) -> tensor<8xf32>
  %7 = stablehlo.custom_call @SPMDFullToShardShape(%6) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  %8 = stablehlo.add %1, %7 : tensor<2xf32>
  %9 = stablehlo.custom_call @SPMDShardToFullShape(%8) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
  return %4, %9 : tensor<8xf32>, tensor<8xf32>
}
