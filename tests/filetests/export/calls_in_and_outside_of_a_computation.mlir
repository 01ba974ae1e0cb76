// A function is exported once; its calls within and outside of a manual computation need different annotations.
// RUN: not shardc opt %s --passes export-gspmd 2>&1 | FileCheck %s
// RUN: shardc opt %s --passes inline,export-gspmd | FileCheck %s --check-prefix=INLINED

// CHECK: error[SH0345]: calls of @f have different manual axes
// CHECK: help: inline the calls first
// INLINED: last_tile_dims={manual
// INLINED: last_tile_dim_replicate
module {
  sdy.mesh @mesh = <["x"=2,"y"=2]>
  func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.negate %a : tensor<4xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{"y"}]> : tensor<4xf32>
    return %1 : tensor<4xf32>
  }
  func.func @main(%a: tensor<8xf32>, %d: tensor<4xf32>) -> (tensor<8xf32>, tensor<4xf32>) {
    %r = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<4xf32>) {
      %n = func.call @f(%b) : (tensor<4xf32>) -> tensor<4xf32>
      sdy.return %n : tensor<4xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    %e = func.call @f(%d) : (tensor<4xf32>) -> tensor<4xf32>
    return %r, %e : tensor<8xf32>, tensor<4xf32>
  }
}
