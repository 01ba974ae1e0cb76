// Programs with global values are rejected.
// RUN: not shardc opt %s --passes legalize-backend 2>&1 | FileCheck %s

func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: error[SH0501]: `@SPMDFullToShardShape` applies to global values and cannot be lowered
  // CHECK: global.mlir:[[# @LINE + 2]]:
  // CHECK: help: partition the program first
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
