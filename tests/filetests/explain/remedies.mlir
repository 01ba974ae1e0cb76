// Remedies, classes of operands, and collectives of equal layers.
// RUN: shardc explain %s --class weight | FileCheck %s
// RUN: shardc explain %s --kind all_gather --axis data --remedies 0 | FileCheck %s --check-prefix=NONE
// RUN: shardc explain %s --min-bytes 1MiB | FileCheck %s --check-prefix=LARGE
// RUN: shardc explain %s --collective 1 | FileCheck %s --check-prefix=ONE
// RUN: shardc explain %s --json - | FileCheck %s --check-prefix=JSON
// RUN: not shardc explain %s --class weights 2>&1 | FileCheck %s --check-prefix=CLASS

// CHECK-NOT: axis "data"
// CHECK: 3 of 4 collectives are selected; in one execution each device sends 30.0 KiB of 32.0 KiB for them:
// CHECK-NEXT: 24.0 KiB  #0 x2 all_gather of tensor<16x64xf32> along data, weight, for stablehlo.dot_general
// CHECK-NEXT: %w0 dimension 0 has "data"
// CHECK-NEXT: equal: #1
// CHECK-NEXT: remedy: replicate params['layers'][0..1]['w'] over "data" (--spec arg1=-,- --spec arg2=-,-): a device sends 24.0 KiB less, needs the same memory
// CHECK-NEXT: 6.0 KiB  #2 all_gather of tensor<16x32xf32> along data, weight, for stablehlo.dot_general

// NONE: 24.0 KiB  #0 x2 all_gather
// NONE-NOT: remedy:

// LARGE: 0 of 4 collectives are selected; in one execution each device sends 0 B of 32.0 KiB for them:

// ONE: collective 1
// ONE-NEXT: 12.0 KiB  #1 all_gather of tensor<16x64xf32> along data, weight, for stablehlo.dot_general
// ONE-NEXT: %w1 dimension 0 has "data"
// ONE-NEXT: remedy: replicate argument 2 params['layers'][1]['w'] over "data" (--spec arg2=-,-)

// JSON: "runs": 1,
// JSON-NEXT: "class": "weight",
// JSON: "remedy": {
// JSON: "totals": {
// JSON-NEXT: "collectives": 4,
// JSON-NEXT: "runs": 4,

// CLASS: 'weights' is not a class of operands; did you mean
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(
    %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("batch['x']"),
    %w0: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][0]['w']"),
    %w1: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][1]['w']"),
    %w2: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>} loc("params['layers'][2]['w']"),
    %v: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>} loc("params['head']")) -> tensor<32x64xf32> {
  %0 = stablehlo.dot_general %x, %w0, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %1 = stablehlo.tanh %0 : tensor<32x64xf32>
  %2 = stablehlo.dot_general %1, %w1, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %3 = stablehlo.tanh %2 : tensor<32x64xf32>
  %4 = stablehlo.dot_general %3, %w2, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  %5 = stablehlo.tanh %4 : tensor<32x64xf32>
  %6 = stablehlo.dot_general %5, %v, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<32x64xf32>
  return %6 : tensor<32x64xf32>
}
