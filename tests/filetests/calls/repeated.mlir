// Each of twenty functions calls the next one four times: inlined, this would be 2^38 sums. The functions are kept,
// and each is partitioned once.
// RUN: shardc partition %s -o - --inline-budget 1 --summary 2>&1 | FileCheck %s
// RUN: shardc explain %s --inline-budget 1 | FileCheck %s --check-prefix=EXPLAIN
// RUN: shardc plan %s --inline-budget 1 --target v5e:1x2 | FileCheck %s --check-prefix=PLAN
// Commands that print or inspect a single program inline everything.
// RUN: not shardc propagate %s -o - 2>&1 | FileCheck %s --check-prefix=WHOLE
// RUN: not shardc lint %s 2>&1 | FileCheck %s --check-prefix=WHOLE

// CHECK: func.func public @main
// CHECK: call @f1(
// CHECK: func.func private @f1(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK: func.func private @f19(%arg0: tensor<4xf32>) -> tensor<4xf32> {
// CHECK: all_reduce
// CHECK-NOT: func.func
// EXPLAIN: all_reduce of tensor<f32> along a, in @f19, called 274877906944 times, for stablehlo.reduce
// PLAN: at the peak
// WHOLE: error[SH0323]
sdy.mesh @mesh = <["a"=2]>
func.func public @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
  %0 = func.call @f0(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @f0(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f1(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f1(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f1(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f1(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f1(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f2(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f2(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f2(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f2(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f2(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f3(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f3(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f3(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f3(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f3(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f4(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f4(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f4(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f4(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f4(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f5(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f5(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f5(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f5(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f5(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f6(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f6(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f6(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f6(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f6(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f7(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f7(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f7(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f7(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f7(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f8(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f8(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f8(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f8(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f8(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f9(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f9(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f9(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f9(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f9(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f10(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f10(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f10(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f10(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f10(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f11(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f11(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f11(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f11(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f11(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f12(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f12(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f12(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f12(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f12(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f13(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f13(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f13(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f13(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f13(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f14(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f14(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f14(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f14(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f14(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f15(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f15(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f15(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f15(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f15(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f16(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f16(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f16(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f16(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f16(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f17(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f17(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f17(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f17(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f17(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f18(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f18(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f18(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f18(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f18(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = func.call @f19(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = func.call @f19(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = func.call @f19(%1) : (tensor<8xf32>) -> tensor<8xf32>
  %3 = func.call @f19(%2) : (tensor<8xf32>) -> tensor<8xf32>
  return %3 : tensor<8xf32>
}
func.func private @f19(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<8xf32>
  %2 = stablehlo.subtract %x, %1 : tensor<8xf32>
  return %2 : tensor<8xf32>
}
