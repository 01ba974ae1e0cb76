// The size after inlining is computed in advance: each function calls the next one four times, so the first one would
// become 2^24 operations.
// RUN: not shardc opt %s --passes inline 2>&1 | FileCheck %s
// RUN: not shardc opt %s --passes sdy-flatten-call-graph 2>&1 | FileCheck %s

// CHECK: error[SH0323]: @f2 has 1048576 operations after inlining; all functions together may have at most 1048576
// CHECK-NOT: bug in shardc
func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f1(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @f1(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @f1(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @f1(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f1(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f2(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @f2(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @f2(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @f2(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f2(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f3(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @f3(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @f3(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @f3(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f3(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f4(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @f4(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @f4(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @f4(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f4(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f5(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @f5(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @f5(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @f5(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f5(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f6(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @f6(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @f6(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @f6(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f6(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f7(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @f7(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @f7(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @f7(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f7(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f8(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @f8(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @f8(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @f8(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f8(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f9(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @f9(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @f9(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @f9(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f9(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f10(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @f10(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @f10(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @f10(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f10(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = func.call @f11(%a) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = func.call @f11(%0) : (tensor<4xf32>) -> tensor<4xf32>
  %2 = func.call @f11(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = func.call @f11(%2) : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @f11(%a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.negate %a : tensor<4xf32>
  %1 = stablehlo.negate %0 : tensor<4xf32>
  %2 = stablehlo.negate %1 : tensor<4xf32>
  %3 = stablehlo.negate %2 : tensor<4xf32>
  return %3 : tensor<4xf32>
}
