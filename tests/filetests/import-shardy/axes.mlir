// RUN: shardc opt %s --passes sdy-remove-size-one-axes | FileCheck %s --check-prefix=ONE
// RUN: shardc opt %s --passes sdy-manual-axes-cleanup | FileCheck %s --check-prefix=MANUAL
// Removal of axes of size one, and canonical manual axes.
sdy.mesh @mesh = <["a"=2, "one"=1, "b"=4]>

// ONE: func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>})
// ONE: in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a", ?}, {?}]>] manual_axes={"b", "a"}

// Axes that are not named are replicated, in the order of the mesh; parts of an axis become the rest of it.
// MANUAL: in_shardings=[<@mesh, [{"a"}, {}], replicated={"b"}>]
// MANUAL-SAME: out_shardings=[<@mesh, [{"a", "one", ?}, {?}], replicated={"b"}>]
// MANUAL-SAME: manual_axes={"a", "b"}
// MANUAL: in_shardings=[<@mesh, [{"b":(1)2}, {}], replicated={"b":(2)2}>]
func.func @main(%arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"one"}p1]>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a", "one", ?}, {?}]>]
      manual_axes={"b", "a"} (%arg1: tensor<4x8xf32>) {
    sdy.return %arg1 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"b":(1)2}, {}]>] out_shardings=[<@mesh, [{"b":(1)2}, {}]>]
      manual_axes={"b"} (%arg1: tensor<4x8xf32>) {
    sdy.return %arg1 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
