// The interpreter runs a step with uneven shards in both modes: results become arguments of the next step, and are saved and loaded. Options
// that need a plugin are rejected.
// RUN: shardc verify %s --engine interpreter | FileCheck %s --check-prefix=VERIFY
// RUN: shardc verify %s --engine interpreter --spmd-mode partition --format json | FileCheck %s --check-prefix=JSON
// RUN: shardc run %s --engine interpreter --steps 2 --save %t.steps | FileCheck %s --check-prefix=STEPS
// RUN: shardc run %s --engine interpreter --load %t.steps --random-missing --save %t.safetensors --check-finite --format json | FileCheck %s --check-prefix=DOCUMENT
// RUN: shardc run %s --engine interpreter --load %t.safetensors --random-missing | FileCheck %s --check-prefix=LOADED
// RUN: not shardc run %s --engine interpreter --processes 2 2>&1 | FileCheck %s --check-prefix=PROCESSES
// RUN: not shardc run %s --engine interpreter --target cuda 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: not shardc run %s --engine interpreter --devices 3 2>&1 | FileCheck %s --check-prefix=DEVICES
// RUN: sed 's/stablehlo.tanh %0 :/stablehlo.custom_call @mine(%0) : (tensor<6x8xf32>) ->/' %s > %t.mlir
// RUN: not shardc run %t.mlir --engine interpreter 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// VERIFY: ok: 2 of 2 outputs equal on 4 devices and on one
// JSON: "engine": "interpreter"
// STEPS: step  milliseconds
// STEPS: out0{{.*}} tensor<6x8xf32>
// DOCUMENT: "engine": "interpreter"
// LOADED: out0
// PROCESSES: error: the interpreter runs all devices in one process
// PROCESSES: help: leave out --processes, or use a plugin: --engine pjrt
// TARGET: error: --engine interpreter runs programs without a plugin
// DEVICES: error: the mesh has 4 devices, but --devices 3 was given
// UNKNOWN: error[SH0710]: the interpreter cannot run stablehlo.custom_call @mine on device 0
// UNKNOWN: help: run it on a PJRT plugin (--engine pjrt)

sdy.mesh @mesh = <["data"=4]>
func.func @main(%w: tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>, tf.aliasing_output = 0 : i32} loc("w"), %x: tensor<6x8xf32> loc("x")) -> (tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, tensor<f32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.multiply %w, %x : tensor<6x8xf32>
  %1 = stablehlo.tanh %0 : tensor<6x8xf32>
  %2 = stablehlo.reduce(%1 init: %zero) applies stablehlo.add across dimensions = [0, 1] : (tensor<6x8xf32>, tensor<f32>) -> tensor<f32>
  return %1, %2 : tensor<6x8xf32>, tensor<f32>
}
