// Sharding rules from a file: custom calls are sharded by them; functions and composites that they name are not inlined.
// RUN: shardc partition %s --rules %S/rules.toml -o - --summary 2>%t.summary | FileCheck %s
// RUN: FileCheck %s --check-prefix=SUMMARY --input-file %t.summary
// RUN: shardc partition %s --rule mark=pointwise --keep-composite my.softmax=bf-\>bg -o - | FileCheck %s --check-prefix=OPTIONS
// RUN: not shardc partition %s --rules %S/wrong_rules.toml -o %t 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: not shardc partition %s --keep-composite my.softmax=bfx-\>bf -o %t 2>&1 | FileCheck %s --check-prefix=MISFIT
// RUN: shardc partition %s --rule mrak=pointwise --keep-composite my.sotfmax -o %t 2>&1 | FileCheck %s --check-prefix=UNUSED

// CHECK: func.func public @main(%arg0: tensor<2x16xf32>, %arg1: tensor<16x32xf32>)
// CHECK: stablehlo.custom_call @mark(%arg0) : (tensor<2x16xf32>) -> tensor<2x16xf32>
// CHECK: call @layer({{.*}}) : (tensor<2x16xf32>, tensor<16x32xf32>) -> tensor<2x32xf32>
// CHECK: stablehlo.composite "my.softmax" %{{.*}} {composite_attributes = {axis = 1 : i64}, decomposition = @soft, version = 2 : i32} : (tensor<2x32xf32>) -> tensor<2x32xf32>
// CHECK: func.func private @layer(%arg0: tensor<2x16xf32>, %arg1: tensor<16x32xf32>) -> tensor<2x32xf32>
// CHECK: func.func private @soft(%arg0: tensor<2x32xf32>) -> tensor<2x32xf32>
// SUMMARY-NOT: all_
// OPTIONS: stablehlo.dot_general
// OPTIONS: stablehlo.composite "my.softmax"
// WRONG-DAG: unknown table 'custom_cal'
// WRONG-DAG: did you mean custom_call? the tables are custom_call, function, composite
// WRONG-DAG: did you mean rule? the keys are rule
// WRONG-DAG: expected 'pointwise', letters as in 'ab,bc->ac'
// MISFIT: error[SH0807]: the rule registered for the composite my.softmax does not fit: `bfx->bf` has 3 letters
// UNUSED: warning[SH0363]: the rule for custom call 'mrak' has no effect because the program has no such custom call
// UNUSED: did you mean mark?
// UNUSED: warning[SH0363]: the rule for composite 'my.sotfmax' has no effect because the program has no such composite
// UNUSED: did you mean my.softmax?
sdy.mesh @mesh = <["data"=4]>
func.func public @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %m = stablehlo.custom_call @mark(%x) : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %0 = func.call @layer(%m, %w) : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  %1 = stablehlo.composite "my.softmax" %0 {composite_attributes = {axis = 1 : i64}, decomposition = @soft, version = 2 : i32} : (tensor<8x32xf32>) -> tensor<8x32xf32>
  return %1 : tensor<8x32xf32>
}
func.func private @layer(%x: tensor<8x16xf32>, %w: tensor<16x32xf32>) -> tensor<8x32xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x32xf32>) -> tensor<8x32xf32>
  return %0 : tensor<8x32xf32>
}
func.func private @soft(%x: tensor<8x32xf32>) -> tensor<8x32xf32> {
  %e = stablehlo.exponential %x : tensor<8x32xf32>
  %z = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%e init: %z) applies stablehlo.add across dimensions = [1] : (tensor<8x32xf32>, tensor<f32>) -> tensor<8xf32>
  %b = stablehlo.broadcast_in_dim %s, dims = [0] : (tensor<8xf32>) -> tensor<8x32xf32>
  %r = stablehlo.divide %e, %b : tensor<8x32xf32>
  return %r : tensor<8x32xf32>
}
