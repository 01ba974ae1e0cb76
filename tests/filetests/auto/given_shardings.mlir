// Arguments with equal shapes and different given shardings are reported separately. A program whose parameters are sharded by annotations is not
// reported as one without FSDP, and has a row for the program as it is annotated.
// RUN: shardc auto %s --target v5e:2x2 | FileCheck %s

// CHECK: strategy as annotated
// CHECK-NOT: no FSDP
// CHECK-DAG: arg1: parameter 4096x4096 as data,-, given
// CHECK-DAG: arg2: parameter 4096x4096 as -,-, given
// CHECK-NOT: {{_2|no FSDP|data as expert}}
// CHECK: * {{.*}} data=4 as annotated
// CHECK-NOT: {{_2|no FSDP|data as expert}}

sdy.mesh @mesh = <["data"=4]>
func.func @main(
    %arg0: tensor<65536x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %arg1: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %arg2: tensor<4096x4096xbf16> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<65536x4096xbf16> {
  %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<65536x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<65536x4096xbf16>
  %1 = stablehlo.dot_general %0, %arg2, contracting_dims = [1] x [0] : (tensor<65536x4096xbf16>, tensor<4096x4096xbf16>) -> tensor<65536x4096xbf16>
  return %1 : tensor<65536x4096xbf16>
}
