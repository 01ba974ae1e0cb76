// The provenance of each axis of a value, from the annotation on, with source lines.
// RUN: shardc explain %s --value %2 | FileCheck %s
// RUN: shardc explain %s --line 26 | FileCheck %s
// RUN: not shardc explain %s --value nothing 2>&1 | FileCheck %s --check-prefix=NOTHING

// CHECK: %2: tensor<32x16xf32>, sharded [{"data"}, {"model"}]
// CHECK-NEXT: value.mlir:26, produced by stablehlo.dot_general
// CHECK: dimension 0 is sharded along "data", from argument 0 %x
// CHECK: ^^ %x dimension 0, annotated: argument 0 %x
// CHECK-NEXT: 24 | %0 = stablehlo.tanh %x
// CHECK-NEXT: ^^^^^^^^^^^^^^ %0 dimension 0, through stablehlo.tanh
// CHECK-NEXT: 26 | %2 = stablehlo.dot_general
// CHECK-NEXT: ^^^^^^^^^^^^^^^^^^^^^ %2 dimension 0, through stablehlo.dot_general
// CHECK: dimension 1 is sharded along "model", from sharding constraint at line 25
// CHECK: 25 | %1 = sdy.sharding_constraint %w
// CHECK-NEXT: %1 dimension 1, annotated: sharding constraint at line 25
// CHECK: %2 dimension 1, through stablehlo.dot_general

// NOTHING: error[SH0820]: the program has no value named nothing
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(
    %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.tanh %x : tensor<32x64xf32>
  %1 = sdy.sharding_constraint %w <@mesh, [{?}, {"model"}]> : tensor<64x16xf32>
  %2 = stablehlo.dot_general %0, %1, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %2 : tensor<32x16xf32>
}
