// RUN: shardc opt %s --passes sdy-manual-axes-cleanup -split-input-file -verify-diagnostics
// Non-empty manual computations with manual axes need an operand or result, which gives the mesh.
sdy.mesh @mesh = <["a"=2]>

func.func @main() {
  // expected-error @+1 {{SH0812 this manual computation has manual axes}}
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"a"} () {
    stablehlo.custom_call @log() {has_side_effect = true} : () -> ()
    sdy.return
  } : () -> ()
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"a"} () {
    sdy.return
  } : () -> ()
  return
}

// -----

func.func @main() {
  // expected-error @+1 {{SH0812 this manual computation has manual axes}}
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"of no mesh"} () {
    stablehlo.custom_call @log() {has_side_effect = true} : () -> ()
    sdy.return
  } : () -> ()
  return
}
