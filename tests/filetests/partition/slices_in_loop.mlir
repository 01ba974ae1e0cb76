// A loop-invariant value that is sliced in each iteration is all-gathered once before the loop; a slice of a carried
// value is an all-reduce of each device's part.
// RUN: shardc partition %S/../../programs/small/loop_reads_rows.mlir -o - | FileCheck %s --implicit-check-not=stablehlo.all_gather --implicit-check-not=stablehlo.all_reduce

// CHECK: func.func @main
// CHECK: "stablehlo.all_gather"({{.*}} : (tensor<1x64xf32>) -> tensor<4x64xf32>
// CHECK: stablehlo.while
// CHECK: do {
// CHECK-DAG: stablehlo.dynamic_slice %{{.*}}, sizes = [1, 8] : (tensor<16x8xf32>
// CHECK-DAG: stablehlo.dynamic_slice %{{.*}}, sizes = [1, 8] : (tensor<15x8xf32>
// CHECK: "stablehlo.all_reduce"
// CHECK: (tensor<1x8xf32>) -> tensor<1x8xf32>

// Outside of loops, the smaller number of bytes decides: here the all-reduce, because the tensor is much larger.
// RUN: shardc partition %s -o - | FileCheck %s --check-prefix=ONCE --implicit-check-not=stablehlo.all_gather
sdy.mesh @mesh = <["data"=4]>
func.func @main(%x: tensor<1024x256xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %i: tensor<i32>) -> tensor<1x256xf32> {
  // ONCE: "stablehlo.all_reduce"
  // ONCE: (tensor<1x256xf32>) -> tensor<1x256xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0 = stablehlo.dynamic_slice %x, %i, %zero, sizes = [1, 256] : (tensor<1024x256xf32>, tensor<i32>, tensor<i32>) -> tensor<1x256xf32>
  return %0 : tensor<1x256xf32>
}
