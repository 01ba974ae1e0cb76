// If the local part of a program cannot be separated from the rest, the error gives the reason.
// RUN: split-file %s %t
// RUN: not shardc opt %t/cycle.mlir --passes import-gspmd 2>&1 | FileCheck %s --check-prefix=CYCLE
// RUN: not shardc opt %t/leaves.mlir --passes import-gspmd 2>&1 | FileCheck %s --check-prefix=LEAVES
// RUN: not shardc opt %t/unsaid.mlir --passes import-gspmd 2>&1 | FileCheck %s --check-prefix=UNSAID
// RUN: not shardc opt %t/shape.mlir --passes import-gspmd 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not shardc opt %t/entry.mlir --passes import-gspmd 2>&1 | FileCheck %s --check-prefix=ENTRY
// RUN: not shardc opt %t/order.mlir --passes import-gspmd 2>&1 | FileCheck %s --check-prefix=ORDER

//--- cycle.mlir
// CYCLE: error[SH0345]: a device-local part of the program depends on a global value that is computed from its own results
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
  %2 = stablehlo.reverse %1, dims = [0] {mhlo.sharding = "{devices=[4]<=[4]}"} : tensor<8xf32>
  %3 = stablehlo.custom_call @SPMDFullToShardShape(%2) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  %4 = stablehlo.add %0, %3 : tensor<2xf32>
  %5 = stablehlo.custom_call @SPMDShardToFullShape(%4) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
  return %5 : tensor<8xf32>
}
//--- leaves.mlir
// LEAVES: error[SH0345]: a region returns a value that is local to each device
// LEAVES: help: @SPMDFullToShardShape and @SPMDShardToFullShape must be in one region
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  %0 = call @enter(%a) : (tensor<8xf32>) -> tensor<2xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @enter(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<2xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}
//--- unsaid.mlir
// UNSAID: error[SH0345]: no sharding specifies how tensor<8xf32> is sharded to the local type tensor<2xf32>
// UNSAID: help: constrain the value with a custom_call @Sharding before it is converted to a local value
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<2xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<2xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
//--- shape.mlir
// SHAPE: error[SH0346]: tensor<8xf32> sharded as [{"axis_0"}] has the local type tensor<2xf32>, got tensor<4xf32>
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{manual}"} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
//--- entry.mlir
// ENTRY: error[SH0345]: argument 0 of @main is local to each device ("{manual}")
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{manual}"}) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
//--- order.mlir
// ORDER: error[SH0345]: the sharding [{"axis_0", "axis_1"}] has a free axis before a manual axis of the same dimension
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @SPMDFullToShardShape(%a) {mhlo.sharding = "{devices=[1,2,2]<=[2,2]T(1,0) last_tile_dims={manual, replicated}}"} : (tensor<8xf32>) -> tensor<4xf32>
  %1 = stablehlo.custom_call @SPMDShardToFullShape(%0) {mhlo.sharding = "{devices=[4]<=[4]}"} : (tensor<4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
