// Manual computations and sub-axes depend on their mesh, which --mesh then cannot replace.
// RUN: not shardc partition %s -o - --mesh x=2,y=2 2>&1 | FileCheck %s
// RUN: shardc partition %s -o - --mesh x=2,y=2 2> %t.err; test $? = 2
// RUN: shardc partition %s -o - --mesh x=4,y=1 | FileCheck %s --check-prefix=SAME

sdy.mesh @mesh = <["x"=4, "y"=1]>

// CHECK: error[SH0338]: the body of a manual computation along x depends on the devices of @mesh
// CHECK: replaced_mesh_refused.mlir:[[#@LINE+4]]:
// CHECK: = help: leave out --mesh, or have the front end generate the program for the new mesh
// SAME: func.func @main(%arg0: tensor<2xf32>) -> tensor<2xf32>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
    %1 = stablehlo.tanh %b : tensor<2xf32>
    sdy.return %1 : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
