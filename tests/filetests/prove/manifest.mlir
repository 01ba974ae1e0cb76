// A manifest of another program is an error with a hint, and so is an unknown reduction.
// RUN: shardc partition %s -o %t.mlir --manifest %t.json
// RUN: sed 's/"local_shape": \[/"local_shape": [2, /' %t.json > %t.shape.json
// RUN: not shardc prove %s %t.mlir %t.shape.json 2>&1 | FileCheck %s
// RUN: sed 's/"dtype": "f32",/"dtype": "f32", "reduction": "mean",/' %t.json > %t.mean.json
// RUN: not shardc prove %s %t.mlir %t.mean.json 2>&1 | FileCheck %s --check-prefix MEAN

// CHECK: error[SH0714]: block 0 of the inputs does not fit the types of the programs
// CHECK: help: pass the manifest that `shardc partition --manifest` wrote with this partition

// MEAN: error[SH0714]: unknown reduction mean in the manifest

sdy.mesh @mesh = <["a"=2]>
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.tanh %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
