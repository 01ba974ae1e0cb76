// The program as it is annotated is a candidate, with open results. A strategy would shard the next value of `w` like `w`, and all-gather it.
// Purposes of axes without an effect on the program are not alternatives.
// RUN: shardc auto %s --target v5e:2x2 --json %t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=JSON --input-file=%t.json

// CHECK: strategy as annotated
// CHECK-NEXT: kept given shardings of 2 of 2 arguments, values within the program
// CHECK-NEXT: --ignore-shardings searches those of the program too
// CHECK-NEXT: time [[TIME:[0-9.]+ [mun]s]]:
// CHECK: choices
// CHECK-NEXT: strategy: as annotated
// CHECK-NEXT: as annotated, others without FSDP: {{.*}} slower
// CHECK: chosen (*) and best of {{[0-9]+}} candidates{{$}}
// CHECK-NEXT: * [[TIME]] {{.*}} data=4 as annotated
// CHECK: data=4 as annotated, others without FSDP
// JSON: "is_exhaustive": false

sdy.mesh @mesh = <["data"=4]>
func.func @main(
    %w: tensor<2048x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
    %x: tensor<65536x2048xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> (tensor<2048x2048xbf16>, tensor<bf16>) {
  %zero = stablehlo.constant dense<0.0> : tensor<bf16>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<65536x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<65536x2048xbf16>
  %square = stablehlo.multiply %y, %y : tensor<65536x2048xbf16>
  %loss = stablehlo.reduce(%square init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<65536x2048xbf16>, tensor<bf16>) -> tensor<bf16>
  %gradient = stablehlo.dot_general %x, %y, contracting_dims = [0] x [0] : (tensor<65536x2048xbf16>, tensor<65536x2048xbf16>) -> tensor<2048x2048xbf16>
  %shards = sdy.sharding_constraint %gradient <@mesh, [{"data"}, {}]> : tensor<2048x2048xbf16>
  %next = stablehlo.subtract %w, %shards : tensor<2048x2048xbf16>
  return %next, %loss : tensor<2048x2048xbf16>, tensor<bf16>
}
