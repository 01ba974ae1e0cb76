// An operation with effects runs on every device, which a note reports; in a manual computation the program determines this.
// RUN: not shardc opt %s --split-input-file --passes propagate,plan,lower-reshards,localize -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.err

sdy.mesh @mesh = <["x"=4]>
// CHECK: warning[SH0316]: stablehlo.infeed has a side effect: every device executes it, with replicated operands
// CHECK: warning[SH0316]: stablehlo.outfeed has a side effect
// CHECK: warning[SH0316]: stablehlo.custom_call @print has a side effect
// CHECK-NOT: warning[SH0316]
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x6xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %0:2 = "stablehlo.infeed"(%t) <{infeed_config = "", layout = [[1, 0]]}> : (!stablehlo.token) -> (tensor<8x6xf32>, !stablehlo.token)
  %1 = stablehlo.add %a, %0#0 : tensor<8x6xf32>
  %2 = "stablehlo.outfeed"(%0#0, %0#1) <{outfeed_config = ""}> : (tensor<8x6xf32>, !stablehlo.token) -> !stablehlo.token
  stablehlo.custom_call @print(%0#0) {has_side_effect = true} : (tensor<8x6xf32>) -> ()
  %3 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%p: tensor<2x6xf32>) {
    stablehlo.custom_call @print(%p) {has_side_effect = true} : (tensor<2x6xf32>) -> ()
    sdy.return %p : tensor<2x6xf32>
  } : (tensor<8x6xf32>) -> tensor<8x6xf32>
  return %3 : tensor<8x6xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>
// CHECK: error[SH0313]: stablehlo.send between devices is not supported
// CHECK: = help: use stablehlo.collective_permute
func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x6xf32> {
  %t = stablehlo.create_token : !stablehlo.token
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, is_host_transfer = false}> : (tensor<8x6xf32>, !stablehlo.token) -> !stablehlo.token
  return %a : tensor<8x6xf32>
}
