// Uneven shardings: always reported for arguments and results, and for other values if padding takes many bytes.
// RUN: shardc lint %s | FileCheck %s
// RUN: shardc lint %s --min-bytes 100 --allow uneven-parameter,annotation-without-effect | FileCheck %s --check-prefix=INSIDE

sdy.mesh @mesh = <["data"=4, "three"=3]>

// CHECK: warning[SH0906]: dimension 0 of argument 0, tensor<30x64xf32>, is sharded 4 ways along "data": 30 elements in 4 blocks of 8, 2 of padding (6.2%)
// CHECK-NEXT: uneven.mlir:[[#@LINE+7]]:17
// CHECK: help: pad the dimension to 32 elements, or shard it along "three", which divides it
// CHECK-NOT: SH0907
// INSIDE-NOT: SH0906
// INSIDE: warning[SH0907]: dimension 1 of the result of stablehlo.add, tensor<64x130xf32>, is sharded 3 ways along "three": 130 elements in 3 blocks of 44, 2 of padding (1.5%)
// INSIDE: note: 1 more value sharded like this
// INSIDE: help: choose a divisible size
func.func @main(%x: tensor<30x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %y: tensor<64x130xf32>) -> (tensor<30x64xf32>, tensor<64x130xf32>) {
  %0 = stablehlo.tanh %x : tensor<30x64xf32>
  %1 = stablehlo.add %y, %y : tensor<64x130xf32>
  %2 = sdy.sharding_constraint %1 <@mesh, [{}, {"three"}]> : tensor<64x130xf32>
  return %0, %2 : tensor<30x64xf32>, tensor<64x130xf32>
}
