// Each named computation becomes a function, inner ones first; names that already exist get a number.
// RUN: shardc opt %s --passes sdy-export-named-computations | FileCheck %s

sdy.mesh @mesh = <["x"=2]>

// CHECK-LABEL: func @main
func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK-NEXT: %[[C:.*]] = call @outer(%arg0) {note, sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>}
  // CHECK-NEXT: stablehlo.negate %[[C]]
  %0 = sdy.named_computation<"outer">(%a) (%b: tensor<8xf32>) {
    %2 = sdy.data_flow_edge %b sharding=<@mesh, [{"x"}]> : tensor<8xf32>
    %3 = sdy.named_computation<"main">(%2) out_shardings=[<@mesh, [{?}]>] (%c: tensor<8xf32>) {
      %4 = stablehlo.sine %c : tensor<8xf32>
      sdy.return %4 : tensor<8xf32>
    } : (tensor<8xf32>) -> tensor<8xf32>
    sdy.return %3 : tensor<8xf32>
  } {execution_thread = "host", note} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = sdy.data_flow_edge %0 sharding=<@mesh, [{"x"}]> : tensor<8xf32>
  %5 = stablehlo.negate %1 : tensor<8xf32>
  return %5 : tensor<8xf32>
}

// CHECK: func private @main_0(%arg0: tensor<8xf32>) -> tensor<8xf32> attributes {sdy.original_func_name = "main"} {
// CHECK-NEXT: stablehlo.sine %arg0
// CHECK-NEXT: return
// CHECK: func private @outer(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> attributes {execution_thread = "host", sdy.original_func_name = "outer"} {
// CHECK-NEXT: call @main_0(%arg0) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{?}]>]>}
