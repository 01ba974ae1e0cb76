// Tokens cross the border of the manual computation.
// RUN: shardc partition %s --manual-computation -o - | FileCheck %s

// CHECK: sdy.manual_computation(%arg0, %arg1) in_shardings=[<@mesh, []>, <@mesh, [{"x"}]>]
// CHECK-SAME: (%arg2: !stablehlo.token, %arg3: tensor<2xf32>)
// CHECK: sdy.return {{.*}} : !stablehlo.token, tensor<2xf32>

sdy.mesh @mesh = <["x"=4]>
func.func @main(%t: !stablehlo.token, %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (!stablehlo.token, tensor<8xf32>) {
  %0 = stablehlo.after_all %t, %t : !stablehlo.token
  return %0, %x : !stablehlo.token, tensor<8xf32>
}
