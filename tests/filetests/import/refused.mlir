// Invalid or contradictory annotations.
// RUN: split-file %s %t
// RUN: not shardc opt %t/text.mlir --passes import-gspmd 2>&1 | FileCheck %s --check-prefix=TEXT
// RUN: not shardc opt %t/meshes.mlir --passes import-gspmd 2>&1 | FileCheck %s --check-prefix=MESHES
// RUN: not shardc opt %t/partitions.mlir --passes import-gspmd 2>&1 | FileCheck %s --check-prefix=PARTITIONS
// RUN: not shardc opt %t/rank.mlir --passes import-gspmd 2>&1 | FileCheck %s --check-prefix=RANK
// RUN: not shardc opt %t/tuple.mlir --passes import-gspmd 2>&1 | FileCheck %s --check-prefix=TUPLE
// RUN: not shardc propagate %t/given.mlir --mesh x=2,y=3 2>&1 | FileCheck %s --check-prefix=GIVEN

//--- text.mlir
// Every text is read before anything else is done.
// TEXT: error[SH0340]: the sharding "{devices=[2,4]<=[9]}" of argument 0 of @main cannot be read: at character 9: the tile assignment has 8 tiles for 9 devices
// TEXT: error[SH0340]: the sharding "{maximal}" of stablehlo.negate cannot be read: at character 2: a maximal sharding needs `device=`
// TEXT: error[SH0340]: the mhlo.sharding of stablehlo.sine is not a string
func.func @main(%a: tensor<8x8xf32> {mhlo.sharding = "{devices=[2,4]<=[9]}"}) -> tensor<8x8xf32> {
  %0 = stablehlo.negate %a {mhlo.sharding = "{maximal}"} : tensor<8x8xf32>
  %1 = stablehlo.sine %0 {mhlo.sharding = 4 : i32} : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
//--- meshes.mlir
// MESHES: error[SH0342]: no mesh fits both the sharding "{devices=[3,2]<=[6]}" of result 0 of @main and "{devices=[2,3]<=[6]}" of argument 0 of @main
// MESHES: help: both shardings must tile values with dimensions of the same device array
func.func @main(%a: tensor<6x6xf32> {mhlo.sharding = "{devices=[2,3]<=[6]}"}, %b: tensor<6x6xf32> {mhlo.sharding = "{devices=[6,1]<=[6]}"})
    -> (tensor<6x6xf32> {mhlo.sharding = "{devices=[3,2]<=[6]}"}) {
  return %a : tensor<6x6xf32>
}
//--- partitions.mlir
// PARTITIONS: error[SH0343]: the sharding "{devices=[4]<=[4]}" of argument 0 of @main is for 4 devices, but mhlo.num_partitions is 8
module attributes {mhlo.num_partitions = 8 : i32} {
  func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}
//--- rank.mlir
// RANK: error[SH0344]: the sharding "{devices=[4,1]<=[4]}" does not fit argument 0 of @main: it has 2 dimensions, but the value has 1
// RANK{LITERAL}: error[SH0344]: the sharding "{{replicated}, {replicated}}" does not fit stablehlo.negate: it is for 2 values, but the operation has 1
func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[4,1]<=[4]}"}) -> tensor<8xf32> {
  %0 = stablehlo.negate %a {mhlo.sharding = "{{replicated}, {replicated}}"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
//--- tuple.mlir
// TUPLE{LITERAL}: error[SH0344]: the sharding "{{devices=[4]<=[4]}, {replicated}}" is on stablehlo.custom_call @f, which is not a tensor
// TUPLE: help: annotate each tensor of a tuple at its producer
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @f(%a) {mhlo.sharding = "{{devices=[4]<=[4]}, {replicated}}"} : (tensor<8xf32>) -> tuple<tensor<8xf32>, tensor<8xf32>>
  %1 = stablehlo.get_tuple_element %0[0] : (tuple<tensor<8xf32>, tensor<8xf32>>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
//--- given.mlir
// GIVEN: error[SH0342]: no mesh fits both the sharding "{devices=[3,2]<=[6]}" of argument 1 of @main and "{devices=[2,3]<=[6]}" of argument 0 of @main
func.func @main(%a: tensor<6x6xf32> {mhlo.sharding = "{devices=[2,3]<=[6]}"}, %b: tensor<6x6xf32> {mhlo.sharding = "{devices=[3,2]<=[6]}"}) -> tensor<6x6xf32> {
  return %a : tensor<6x6xf32>
}
