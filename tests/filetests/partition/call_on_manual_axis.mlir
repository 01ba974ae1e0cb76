// A function that shards along an axis cannot be called where the axis is manual: the error has the function's line.
// RUN: not shardc partition %s -o - 2>&1 | FileCheck %s --implicit-check-not="bug in shardc"

sdy.mesh @mesh = <["x"=2]>

func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<4xf32>) {
    %1 = func.call @f(%b) : (tensor<4xf32>) -> tensor<4xf32>
    sdy.return %1 : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: error[SH0213]: stablehlo.abs uses the axis x, which is manual in an enclosing sdy.manual_computation
  // CHECK-NEXT: call_on_manual_axis.mlir:[[# @LINE + 1]]:
  %0 = stablehlo.abs %a {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<4xf32>
  return %0 : tensor<4xf32>
}
