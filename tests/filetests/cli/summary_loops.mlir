// Bytes sent in a loop are multiplied by the trip count.
// RUN: shardc partition %s -o %t.mlir --summary 2>&1 | FileCheck %s
// RUN: shardc partition %s -o %t.mlir --summary --format json 2>&1 | FileCheck %s --check-prefix=JSON

sdy.mesh @mesh = <["data"=4]>
// CHECK: collective count in loops runs sent per device
// CHECK-NEXT: all_reduce 1 1 5 240 B
// JSON: {"kind":"all_reduce","count":1,"in_loops":1,"runs":5,"bytes_sent":48,"bytes_in_run":240}
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<8xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %five = stablehlo.constant dense<5> : tensor<i32>
  %nothing = stablehlo.constant dense<0.0> : tensor<f32>
  %start = stablehlo.constant dense<0.0> : tensor<8xf32>
  %l:2 = stablehlo.while(%i = %zero, %y = %start) : tensor<i32>, tensor<8xf32>
  cond {
    %t = stablehlo.compare LT, %i, %five : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %t : tensor<i1>
  } do {
    %rows = stablehlo.broadcast_in_dim %y, dims = [1] : (tensor<8xf32>) -> tensor<16x8xf32>
    %sine = stablehlo.sine %rows : tensor<16x8xf32>
    %product = stablehlo.multiply %sine, %x : tensor<16x8xf32>
    %sum = stablehlo.reduce(%product init: %nothing) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %sum : tensor<i32>, tensor<8xf32>
  }
  return %l#1 : tensor<8xf32>
}
