// A pass that requires an earlier pass names it in its error, for any order.
// RUN: split-file %s %t
// RUN: not shardc opt %t/main.mlir --passes plan 2>&1 | FileCheck %s --check-prefix=CALLS
// RUN: not shardc opt %t/slice.mlir --passes propagate,plan 2>&1 | FileCheck %s --check-prefix=COLLECTIVES
// RUN: not shardc opt %t/main.mlir --passes inline,localize 2>&1 | FileCheck %s --check-prefix=CONSTRAINTS
// RUN: not shardc opt %t/main.mlir --passes inline,decompose,propagate,plan,localize 2>&1 | FileCheck %s --check-prefix=RESHARDS
// RUN: not shardc opt %t/products.mlir --passes localize 2>&1 | FileCheck %s --check-prefix=PRODUCTS
// RUN: not shardc opt %t/manual.mlir --passes sdy-add-data-flow-edges,sdy-add-data-flow-edges 2>&1 | FileCheck %s --check-prefix=EDGES
// RUN: shardc opt %t/slice.mlir --passes localize | FileCheck %s --check-prefix=SLICE
// RUN: shardc opt %t/manual.mlir --passes localize | FileCheck %s --check-prefix=MANUAL

//--- main.mlir
sdy.mesh @mesh = <["x"=4, "y"=2]>

// CALLS: error[SH0391]: the pass legalize-shardings needs a program without calls, but the program has func.call @f
// CALLS: = help: run the pass inline before legalize-shardings
// CONSTRAINTS: error[SH0391]: the pass localize needs a planned program, but the program has sdy.sharding_constraint
// CONSTRAINTS: = help: run the pass plan before localize
// RESHARDS: error[SH0391]: the pass localize needs a program whose reshards are lowered, but the program has sdy.reshard
// RESHARDS: = help: run the pass lower-reshards before localize
func.func public @main(%a: tensor<8x8xf32>) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = func.call @f(%a) : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = stablehlo.negate %0 : tensor<8x8xf32>
  return %1 : tensor<8x8xf32>
}
func.func private @f(%a: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = sdy.sharding_constraint %a <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

//--- products.mlir
// PRODUCTS: error[SH0392]: the pass localize needs the output of plan and lower-reshards: {{.*}}stablehlo.dot_general
// PRODUCTS: = help: run the passes propagate, plan and lower-reshards before localize
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %b: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}

//--- slice.mlir
// The only mesh that the program names is that of the collective.
// COLLECTIVES: error[SH0391]: the pass legalize-shardings needs a program without collectives between shardings, but the program has sdy.all_slice
// COLLECTIVES: = help: run the pass decompose before legalize-shardings
// SLICE: mhlo.num_replicas = 8 : i32
// SLICE: stablehlo.dynamic_slice
sdy.mesh @mesh_4_2 = <["x"=4, "y"=2]>
func.func @f(%arg0: tensor<7x8xf32>) -> (tensor<7x8xf32> {sdy.sharding = #sdy.sharding<@mesh_4_2, [{"x"}, {}]>}) {
  %0 = sdy.all_slice [{"x"}, {}] %arg0 out_sharding=<@mesh_4_2, [{"x"}, {}]> : tensor<7x8xf32>
  return %0 : tensor<7x8xf32>
}

//--- manual.mlir
// The only mesh that the program names is that of the manual computation.
// EDGES: error[SH0391]: the pass sdy-add-data-flow-edges needs a program without data-flow edges, but the program has sdy.data_flow_edge
// MANUAL: mhlo.num_replicas = 2 : i32
// MANUAL: stablehlo.negate %arg0 : tensor<8xf32>
sdy.mesh @mesh = <["x"=2]>
func.func @f(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}]>] out_shardings=[<@mesh, [{}]>] manual_axes={"x"} (%b: tensor<8xf32>) {
    %1 = stablehlo.negate %b : tensor<8xf32>
    sdy.return %1 : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
