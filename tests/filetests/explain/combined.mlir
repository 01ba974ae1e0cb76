// A combined collective is explained by all operations that it serves.
// RUN: shardc explain %s | FileCheck %s
// RUN: shardc explain %s --collective 0 | FileCheck %s --check-prefix=ONE
// RUN: shardc explain %s --json - | FileCheck %s --check-prefix=JSON

sdy.mesh @mesh = <["data"=4]>

// CHECK: 1 collective, most bytes first; each device sends
// CHECK-NEXT: #0 all_reduce of tensor<8x4xf32> and 2 more along data, activation, for stablehlo.dot_general {{.*}}combined.mlir:[[# @LINE + 15]]
// CHECK-NEXT: it reduces dimension 0 of %x, which is sharded along "data"
// CHECK-NEXT: it reduces dimension 0 of %y, which is sharded along "data"
// CHECK-NEXT: and for stablehlo.dot_general {{.*}}combined.mlir:[[# @LINE + 13]]
// CHECK: and for 1 more, combined into one collective
// ONE: and for stablehlo.reduce
// ONE-NEXT: it reduces dimension 0 of %x
// ONE-NOT: more, combined
// JSON: "serves": [
// JSON: "op": "stablehlo.dot_general"
// JSON: "op": "stablehlo.dot_general"
// JSON: "op": "stablehlo.reduce"
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %y: tensor<16x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<8x4xf32>, tensor<4x4xf32>, tensor<8xf32>) {
  %0 = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<16x8xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  %1 = stablehlo.dot_general %y, %y, contracting_dims = [0] x [0] : (tensor<16x4xf32>, tensor<16x4xf32>) -> tensor<4x4xf32>
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %2 = stablehlo.reduce(%x init: %zero) applies stablehlo.add across dimensions = [0]
      : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %0, %1, %2 : tensor<8x4xf32>, tensor<4x4xf32>, tensor<8xf32>
}
