// Warnings about cost: sorted by bytes, loops weighted by trip counts, duplicates merged, and those below 64 KiB and
// 1 % of the bytes sent only counted. --strict makes the printed ones errors.
// RUN: shardc partition %s -o - 2>&1 | FileCheck %s
// RUN: shardc partition %s -o - --warn-bytes 0 2>&1 | FileCheck %s --check-prefix=ALL --implicit-check-not=note:
// RUN: shardc partition %s -o - --warn-bytes 20KiB 2>&1 | FileCheck %s --check-prefix=SOME
// RUN: shardc partition %s -o - --warn-bytes 2MiB --strict 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: shardc partition %s -o %t.mlir --format json 2>&1 | FileCheck %s --check-prefix=JSON
// RUN: not shardc partition %s -o - --strict 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: not shardc partition %s -o - --warn-bytes many 2>&1 | FileCheck %s --check-prefix=USAGE

sdy.mesh @mesh = <["x"=4]>

// CHECK: warning[SH0310]: stablehlo.sort needs dimension 0 of operand 0 replicated, so the operand is all-gathered: tensor<262144xf32>
// CHECK: warning[SH0310]: {{.*}} tensor<256xf32>, sharded [{"x"}], 1.0 KiB
// CHECK: note: counted 32 times, once per loop iteration: 32.0 KiB
// CHECK: warning[SH0310]: {{.*}} tensor<2048xf32>
// CHECK-NEXT: selection.mlir:[[#@LINE+38]]:8
// CHECK: note: 1 more like this, 16.0 KiB in total
// CHECK-NOT: warning[
// CHECK: note: 2 more warnings are not shown: each costs less than 8.0 KiB, 384 B in total; --warn-bytes 0 shows them
// ALL: tensor<262144xf32>
// ALL: note: counted 32 times
// ALL: note: 1 more like this
// ALL: warning[SH0310]: {{.*}} tensor<64xf32>
// ALL: warning[SH0310]: {{.*}} tensor<32xf32>
// SOME: tensor<262144xf32>
// SOME: tensor<256xf32>
// SOME-NOT: warning[
// SOME: note: 3 more warnings are not shown: each costs less than 20.0 KiB, 16.4 KiB in total
// NONE-NOT: warning[
// NONE: note: 5 warnings are not shown: each costs less than 2.0 MiB
// NONE: func.func @main
// STRICT: error[SH0310]: {{.*}} tensor<262144xf32>
// STRICT: error[SH0310]: {{.*}} tensor<256xf32>
// STRICT: error[SH0310]: {{.*}} tensor<2048xf32>
// STRICT-NOT: error[
// JSON: {"code":"SH0310",{{.*}}"bytes":1048576,{{.*}}"times":1
// JSON: {"code":{{.*}}"bytes":32768,
// JSON: {"code":{{.*}}"bytes":16384,{{.*}}"times":2
// JSON-NOT: "code"
// JSON: {"type":"note","message":"2 more warnings are not shown: each costs less than 8.0 KiB, 384 B in total; --warn-bytes 0 shows them","left_out":{"count":2,"bytes":384},"warn_bytes":{{[0-9]+}}}
// USAGE: expected a number of bytes
func.func @main(%a: tensor<262144xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %b: tensor<2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %c: tensor<2048xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %d: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %e: tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
                %f: tensor<256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<262144xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<64xf32>, tensor<32xf32>, tensor<256xf32>) {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %lt = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<262144xf32>) -> tensor<262144xf32>
  %1 = "stablehlo.sort"(%b) <{dimension = 0 : i64}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %lt = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<2048xf32>) -> tensor<2048xf32>
  %2 = "stablehlo.sort"(%c) <{dimension = 0 : i64}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %lt = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<2048xf32>) -> tensor<2048xf32>
  %3 = "stablehlo.sort"(%d) <{dimension = 0 : i64}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %lt = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<64xf32>) -> tensor<64xf32>
  %4 = "stablehlo.sort"(%e) <{dimension = 0 : i64}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %lt = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %lt : tensor<i1>
  }) : (tensor<32xf32>) -> tensor<32xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<32> : tensor<i32>
  %5:2 = stablehlo.while(%i = %zero, %x = %f) : tensor<i32>, tensor<256xf32>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %y = stablehlo.tanh %x : tensor<256xf32>
    %z = "stablehlo.sort"(%y) <{dimension = 0 : i64}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %lt = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %lt : tensor<i1>
    }) : (tensor<256xf32>) -> tensor<256xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %z : tensor<i32>, tensor<256xf32>
  }
  return %0, %1, %2, %3, %4, %5#1 : tensor<262144xf32>, tensor<2048xf32>, tensor<2048xf32>, tensor<64xf32>, tensor<32xf32>, tensor<256xf32>
}
