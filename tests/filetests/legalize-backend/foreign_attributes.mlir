// Discardable attributes of dialects that plugins do not register are kept in files and dropped for plugins.
// RUN: shardc partition %s --mesh x=2 --spec arg0=x -o - | FileCheck %s --check-prefix=FILE
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --implicit-check-not=ttcore --implicit-check-not=iree

// FILE: ttcore.argument_type = #ttcore.argument_type<input>
// CHECK: func.func @main(%arg0: tensor<8xf32> {jax.arg_info = "x"})
func.func @main(%arg0: tensor<8xf32> {jax.arg_info = "x", ttcore.argument_type = #ttcore.argument_type<input>}) -> tensor<8xf32>
    attributes {iree.abi.stub} {
  %0 = stablehlo.add %arg0, %arg0 {ttcore.hint = "fast"} : tensor<8xf32>
  return %0 : tensor<8xf32>
}
