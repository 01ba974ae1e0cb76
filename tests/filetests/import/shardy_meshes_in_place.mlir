// Shardy shardings with inlined meshes, for a tuple of arguments; a function declaration keeps no annotation.
// RUN: shardc opt %s --passes import-gspmd | FileCheck %s

// CHECK-NOT: mhlo
// CHECK: sdy.mesh @mesh = <["a"=2, "b"=2]>
// CHECK-NOT: sdy.mesh
module attributes {mhlo.frontend_attributes = {xla.sdy.tuple_args_shardings = "#sdy.sharding_per_value<[<mesh<[\22a\22=2, \22b\22=2]>, [{\22a\22}]>, <mesh<[\22a\22=2, \22b\22=2]>, [{}]>]>",
                                               xla.sdy.tuple_results_shardings = "#sdy.sharding_per_value<[<mesh<[\22a\22=2, \22b\22=2]>, [{\22b\22, ?}]>]>"}} {
  // CHECK: func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}, %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", ?}]>})
  func.func @main(%a: tensor<8xf32> {mhlo.sharding = "{replicated}"}, %b: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.add %a, %b : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  // CHECK: func.func private @outside(tensor<8xf32>) -> tensor<8xf32>
  func.func private @outside(tensor<8xf32> {mhlo.sharding = "{replicated}"}) -> tensor<8xf32>
}
