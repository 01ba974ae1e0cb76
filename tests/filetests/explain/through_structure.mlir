// Propagation of axes through a loop, a call, a sharding group, a manual computation and a reshape.
// RUN: shardc explain %s --result 0 | FileCheck %s
// RUN: shardc explain %s --value %grouped | FileCheck %s --check-prefix=GROUP
// RUN: shardc explain %s --value %part | FileCheck %s --check-prefix=MANUAL
// RUN: shardc explain %s --value %manual | FileCheck %s --check-prefix=OUTSIDE
// RUN: shardc explain %s --value %flat | FileCheck %s --check-prefix=RESHAPE

// CHECK: dimension 0 is sharded along "data", from argument 0 %x
// CHECK: %called dimension 0, through stablehlo.negate (called at line [[#]])
// CHECK: %loop#1 dimension 0, through stablehlo.while
// CHECK: result 0 dimension 0, returned

// GROUP: %grouped dimension 0, in one sharding group with %called

// MANUAL: %part: tensor<8x8xf32>, sharded [{"data"}, {}]
// MANUAL: %part dimension 0, into sdy.manual_computation

// OUTSIDE: dimension 0 is sharded along "data", from argument 0 %x
// OUTSIDE: %manual dimension 0, through sdy.manual_computation
// OUTSIDE: dimension 1 is sharded along "model", from result 0 of the manual computation at line [[#]]

// RESHAPE: dimension 0 is sharded along "data:(1)2", from argument 0 %x
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %i: tensor<i32>, %y: tensor<8x16xf32>)
    -> (tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<2x4x16xf32>) {
  %0 = call @f(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  sdy.sharding_group %0 group_id=0 : tensor<8x16xf32>
  %grouped = stablehlo.abs %y : tensor<8x16xf32>
  sdy.sharding_group %grouped group_id=0 : tensor<8x16xf32>
  %c = stablehlo.constant dense<1> : tensor<i32>
  %loop:2 = stablehlo.while(%n = %i, %carry = %0) : tensor<i32>, tensor<8x16xf32>
    cond {
      %less = stablehlo.compare LT, %n, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %less : tensor<i1>
    } do {
      stablehlo.return %n, %carry : tensor<i32>, tensor<8x16xf32>
    }
  %manual = sdy.manual_computation(%0) in_shardings=[<@mesh, [{?}, {"model", ?}]>] out_shardings=[<@mesh, [{?}, {"model", ?}]>] manual_axes={"model"} (%part: tensor<8x8xf32>) {
    %inside = stablehlo.add %part, %part : tensor<8x8xf32>
    sdy.return %inside : tensor<8x8xf32>
  } : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %flat = stablehlo.reshape %0 : (tensor<8x16xf32>) -> tensor<2x4x16xf32>
  return %loop#1, %grouped, %manual, %flat : tensor<8x16xf32>, tensor<8x16xf32>, tensor<8x16xf32>, tensor<2x4x16xf32>
}
func.func private @f(%a: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %called = stablehlo.negate %a : tensor<8x16xf32>
  return %called : tensor<8x16xf32>
}
