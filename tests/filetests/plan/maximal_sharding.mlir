// RUN: shardc opt %s --passes propagate,plan -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN < %t.err

// A program that runs on all devices has no values on one of them: all devices have them.

sdy.mesh @one = <[], device_ids=[0]>
sdy.mesh @mesh = <["x"=4]>

// WARN: warning[SH0311]: argument 0 of @main should be on device 0 only, but is replicated on every device
// WARN: warning[SH0311]: the result of stablehlo.add should be on device 0 only, but is replicated on every device
// CHECK: %arg0: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}
// CHECK: %[[SUM:.*]] = stablehlo.add
// CHECK-NEXT: sdy.reshard %[[SUM]] <@mesh, [{}, {}]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one, []>}, %b: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xf32> {
  %0 = stablehlo.add %a, %b {sdy.sharding = #sdy.sharding_per_value<[<@one, []>]>} : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
