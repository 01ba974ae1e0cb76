// In exact arithmetic, a program equals its partition and a partition that is written by hand. Damage in the latter is found: a maximum
// instead of a sum changes all elements, and groups of the wrong devices change all of them too.
// RUN: sed '/^func.func @by_hand/,$d' %s > %t.main.mlir
// RUN: shardc verify %t.main.mlir --exact | FileCheck %s --check-prefix=EQUAL
// RUN: shardc verify %t.main.mlir --exact --seed 7 --spmd-mode partition | FileCheck %s --check-prefix=EQUAL
// RUN: shardc verify %t.main.mlir --exact --format json | FileCheck %s --check-prefix=JSON
// RUN: sed 's/^func.func @main/func.func @plain/; s/^func.func @by_hand/func.func @main/' %s > %t.mlir
// RUN: shardc verify %s --exact --against %t.mlir | FileCheck %s --check-prefix=HAND
// RUN: sed 's/stablehlo.add %p/stablehlo.maximum %p/' %t.mlir > %t.sum.mlir
// RUN: not shardc verify %s --exact --against %t.sum.mlir | FileCheck %s --check-prefix=SUM
// RUN: sed 's/0, 2], .1, 3/0, 1], [2, 3/' %t.mlir > %t.groups.mlir
// RUN: not shardc verify %s --exact --against %t.groups.mlir | FileCheck %s --check-prefix=GROUPS
// RUN: not shardc verify %s --exact --engine pjrt 2>&1 | FileCheck %s --check-prefix=ENGINE
// RUN: not shardc verify %s --exact --target cpu 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not shardc verify %t.main.mlir --exact --work-limit 10 2>&1 | FileCheck %s --check-prefix=WORK

// EQUAL: ok: 1 of 1 outputs (24 elements) equal on 4 devices and on one, in exact arithmetic
// EQUAL: chance of a missed difference: at most {{.*}}e-1{{[0-9]}}; see "Exact arithmetic" in docs/GUIDE.md
// JSON: "ok": true,
// JSON: "engine": "interpreter",
// JSON: "chance_of_missed_difference": {{[0-9.]+}}e-1
// JSON: "different": 0,
// HAND: ok: 1 of 1 outputs (24 elements) equal in both programs, in exact arithmetic
// SUM: 0{{ +}}tensor<6x4xf32>{{ +}}24{{ +}}24{{ +}}[0, 0]
// SUM: WRONG: 0 of 1 outputs (24 elements) equal in both programs, in exact arithmetic
// GROUPS: WRONG: 0 of 1
// ENGINE: error: --exact runs programs in the interpreter, because plugins have no exact arithmetic
// TARGET: error: --exact runs programs without a plugin
// WORK: error[SH0711]: {{.*}} the work limit of 10 elements for each device is reached

sdy.mesh @mesh = <["data"=2, "model"=2]>
func.func @main(%x: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}, %w: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<6x4xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  %1 = stablehlo.tanh %0 : tensor<6x4xf32>
  return %1 : tensor<6x4xf32>
}
func.func @by_hand(%x: tensor<6x8xf32>, %w: tensor<8x4xf32>) -> tensor<6x4xf32> {
  %0 = sdy.manual_computation(%x, %w) in_shardings=[<@mesh, [{"model"}, {"data"}]>, <@mesh, [{"data"}, {}]>] out_shardings=[<@mesh, [{"model"}, {}]>] manual_axes={"data", "model"} (%a: tensor<3x4xf32>, %b: tensor<4x4xf32>) {
    %1 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<3x4xf32>, tensor<4x4xf32>) -> tensor<3x4xf32>
    %2 = "stablehlo.all_reduce"(%1) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %s = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<3x4xf32>) -> tensor<3x4xf32>
    %3 = stablehlo.tanh %2 : tensor<3x4xf32>
    sdy.return %3 : tensor<3x4xf32>
  } : (tensor<6x8xf32>, tensor<8x4xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}
