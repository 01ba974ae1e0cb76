// A program without values is for the devices of its mesh, and a manual computation without operands and results
// names no mesh: only its body remains.
// RUN: shardc partition %s -o - | FileCheck %s

// CHECK: mhlo.num_replicas = 2
// CHECK: stablehlo.custom_call @log()
// CHECK-NOT: manual_computation
sdy.mesh @mesh = <["a"=2]>
func.func @main() {
  sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={"a"} () {
    stablehlo.custom_call @log() {has_side_effect = true} : () -> ()
    sdy.return
  } : () -> ()
  return
}
