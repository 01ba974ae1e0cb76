// Copies of one function with equal shardings are merged, or all copies are: into the one that fits most calls.
// RUN: shardc opt %s --passes sdy-unflatten-call-graph | FileCheck %s
// RUN: shardc opt %s -sdy-unflatten-call-graph='dedup-functions-fully=true' | FileCheck %s --check-prefix=FULLY

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @main
// FULLY-LABEL: func @main
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: call @f(
  // CHECK: call @f_0(
  // CHECK: call @f_0(
  // FULLY-COUNT-3: call @f_1(
  %0 = call @f(%a) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @f_0(%0) : (tensor<8xf32>) -> tensor<8xf32>
  %2 = call @f_1(%1) : (tensor<8xf32>) -> tensor<8xf32>
  return %2 : tensor<8xf32>
}

// CHECK-NOT: sdy.original_func_name
// CHECK-NOT: sdy.func_manual_axes
func.func private @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  return %a : tensor<8xf32>
}
func.func private @f_0(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> attributes {sdy.original_func_name = "f"} {
  return %a : tensor<8xf32>
}
func.func private @f_1(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> attributes {sdy.original_func_name = "f"} {
  return %a : tensor<8xf32>
}
func.func private @in_manual(%a: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.func_manual_axes = #sdy<manual_axes{"x"}>} {
  return %a : tensor<8xf32>
}
