// What a device has of the largest elements is gathered: a step of the operation, of which nobody is warned.
// RUN: shardc partition %s --strict -o - | FileCheck %s

sdy.mesh @mesh = <["x"=4]>

// CHECK: chlo.top_k(%{{.*}}, k = 3) : tensor<6x1x16xf32>
// CHECK-COUNT-2: "stablehlo.all_gather"
// CHECK: chlo.top_k(%{{.*}}, k = 3) : tensor<6x12xf32>
func.func @main(%a: tensor<6x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> (tensor<6x3xf32>, tensor<6x3xi32>) {
  %0:2 = chlo.top_k(%a, k = 3) : tensor<6x64xf32> -> (tensor<6x3xf32>, tensor<6x3xi32>)
  return %0#0, %0#1 : tensor<6x3xf32>, tensor<6x3xi32>
}
