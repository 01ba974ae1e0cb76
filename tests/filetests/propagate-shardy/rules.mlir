// Sharding rules as text; conservative ones skip factors that may not divide. Unknown calls are reported.
// RUN: shardc opt %s -sdy-populate-op-sharding-rules 2>/dev/null | FileCheck %s --check-prefixes=CHECK,BOLD
// RUN: shardc opt %s -sdy-populate-op-sharding-rules='conservative-propagation=true' 2>/dev/null | FileCheck %s --check-prefixes=CHECK,SAFE
// RUN: shardc opt %s -sdy-populate-op-sharding-rules -sdy-drop-sharding-rules -verify-diagnostics | FileCheck %s --check-prefix=DROPPED

// DROPPED-NOT: op_sharding_rule<{{.*}}}>
func.func @main(%a: tensor<8x6xf32>, %z: tensor<f32>) -> tensor<8x8xf32> {
  // BOLD: stablehlo.slice {{.*}}<([i, j])->([i, j]) {i=8, j=6} permutation={j}>
  // SAFE: stablehlo.slice {{.*}}<([i, j])->([i, j]) {i=8, j=6} permutation={j} blocked_propagation={j}>
  %0 = stablehlo.slice %a [0:8, 0:4] : (tensor<8x6xf32>) -> tensor<8x4xf32>
  // BOLD: stablehlo.concatenate {{.*}}<([i, j], [i, j])->([i, j]) {i=8, j=8} need_replication={j}>
  // SAFE: stablehlo.concatenate {{.*}}<([i, j], [i, k])->([i, l]) {i=8, j=1, k=1, l=1}>
  %n = stablehlo.negate %0 : tensor<8x4xf32>
  %1 = stablehlo.concatenate %n, %0, dim = 1 : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  // The program's own rule stays.
  // CHECK: stablehlo.custom_call @known{{.*}}, custom>
  // DROPPED: stablehlo.custom_call @known{{.*}}, custom>
  %2 = stablehlo.custom_call @known(%1) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=8, j=8, k=8}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
  // CHECK: stablehlo.custom_call @unknown(%{{.*}}) : (
  // expected-warning@+1 {{SH0806: the custom call @unknown has no sharding rule}}
  %3 = stablehlo.custom_call @unknown(%2) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %4 = stablehlo.custom_call @unknown(%3) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %4 : tensor<8x8xf32>
}
