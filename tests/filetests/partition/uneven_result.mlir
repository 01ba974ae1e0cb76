// A result without an annotation is replicated if the axis does not divide it; a value that is computed in shards is
// then all-gathered, which is reported. Annotated results may be uneven.
// RUN: shardc partition %s -o - 2>&1 | FileCheck %s
// RUN: shardc partition %s --spec "result0=data,-" -o - 2>&1 | FileCheck %s --check-prefix=ASKED
// RUN: not shardc partition %s --strict -o - 2>&1 | FileCheck %s --check-prefix=STRICT

sdy.mesh @mesh = <["data"=8]>

// CHECK: warning[SH0808]: result 0, tensor<18x32xf32>, is computed with sharding [{"data"}, {}] and returned with sharding [{}, {}], because the size 18 of dimension 0 is not divisible by 8 (result size: 2.2 KiB)
// CHECK: help: annotate the result with [{"data"}, {}]
// CHECK: func.func @main
// CHECK-SAME: -> tensor<18x32xf32>
// CHECK: stablehlo.all_gather
// ASKED-NOT: warning
// ASKED: -> tensor<3x32xf32>
// ASKED-NOT: all_gather
// STRICT: error[SH0808]
func.func @main(%x: tensor<18x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %w: tensor<64x32xf32>) -> tensor<18x32xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
      : (tensor<18x64xf32>, tensor<64x32xf32>) -> tensor<18x32xf32>
  return %0 : tensor<18x32xf32>
}
