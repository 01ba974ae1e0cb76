// The unchanged program in each format; bytecode is parsed again.
// RUN: shardc opt %s --emit bytecode -o %t.mlirbc
// RUN: shardc opt %t.mlirbc | FileCheck %s
// RUN: shardc propagate %s --emit bytecode -o %t.propagated.mlirbc
// RUN: shardc opt %t.propagated.mlirbc | FileCheck --check-prefix=PROPAGATED %s
// RUN: shardc opt %s -mlir-print-op-generic -mlir-print-debuginfo | FileCheck --check-prefix=GENERIC %s

// CHECK: sdy.mesh @mesh = <["x"=2]>
// CHECK: func.func @main(%arg0: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>} loc(unknown)) -> tensor<4xf32>
// CHECK-NEXT: stablehlo.abs %arg0 : tensor<4xf32>
// PROPAGATED: stablehlo.abs %arg0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}]>]>} : tensor<4xf32>
// GENERIC: "stablehlo.abs"(%arg0) : (tensor<4xf32>) -> tensor<4xf32> loc(#loc
sdy.mesh @mesh = <["x"=2]>
func.func @main(%a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<4xf32> {
  %0 = stablehlo.abs %a : tensor<4xf32> loc("abs"("f.py":1:2))
  return %0 : tensor<4xf32>
}
