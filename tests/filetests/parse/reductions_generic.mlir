// In generic form a reduction is a number; planning produces more kinds than Shardy has.
// RUN: shardc opt %s --emit generic -o %t.mlir
// RUN: shardc opt %t.mlir | FileCheck %s

sdy.mesh @mesh = <["a"=2]>

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> (tensor<i32>, tensor<i32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = stablehlo.reduce(%x init: %one) applies stablehlo.multiply across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced=mul{"a"}>]>} : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  // CHECK: sdy.all_reduce mul {"a"} %{{.*}} out_sharding=<@mesh, []>
  %1 = sdy.all_reduce mul {"a"} %0 out_sharding=<@mesh, []> : tensor<i32>
  %2 = stablehlo.reduce(%x init: %one) applies stablehlo.maximum across dimensions = [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [], unreduced=max{"a"}>]>} : (tensor<4xi32>, tensor<i32>) -> tensor<i32>
  // CHECK: sdy.all_reduce max {"a"} %{{.*}} out_sharding=<@mesh, []>
  %3 = sdy.all_reduce max {"a"} %2 out_sharding=<@mesh, []> : tensor<i32>
  return %1, %3 : tensor<i32>, tensor<i32>
}
