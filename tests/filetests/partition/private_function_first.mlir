// A private function before the entry function is inlined and removed; the entry function is still found.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["x"=4]>
// CHECK-NOT: @twice
func.func private @twice(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.add %a, %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// CHECK: func.func public @main(%arg0: tensor<2xf32>
func.func public @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = call @twice(%a) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
