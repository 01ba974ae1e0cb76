// Targets are compared, with the mesh resized for each; the smallest target that fits is found.
// RUN: shardc plan %s --sweep v5e,h100 --samples 4096 --price v5e=1.2 | FileCheck %s
// RUN: shardc plan %s --smallest-slice v5e --memory 90MiB | FileCheck %s --check-prefix=SMALLEST
// RUN: shardc plan %s --smallest-slice v5e --memory 1MiB > %t; test $? = 1
// RUN: FileCheck %s --check-prefix=NONE --input-file=%t
// RUN: not shardc plan %s --sweep v5e --price 3 2>&1 | FileCheck %s --check-prefix=PRICE
// RUN: not shardc plan %s --sweep v5e --html %t.html 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not shardc plan %s --smallest-slice v5e --trace %t.json 2>&1 | FileCheck %s --check-prefix=ONE
// RUN: not shardc plan %s --smallest-slice v5e --fits 2>&1 | FileCheck %s --check-prefix=ONE

// CHECK: target devices mesh memory fits time x devices HFU price per sample
// CHECK-DAG: h100:8 8 data=8
// CHECK-DAG: v5e:2x2 4 data=4
// SMALLEST: v5e:2x4 8 data=8
// NONE: no target of this kind with 4 to 256 devices has enough memory; v5e:16x16 with data=256 comes nearest: it needs up to
// ONE: cannot be used with
// PRICE: --price: expected KIND=PRICE, as in v5e=1.2

sdy.mesh @mesh = <["data"=4]>
func.func @main(
    %x: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<4096x4096xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) -> tensor<4096x4096xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
  return %0 : tensor<4096x4096xf32>
}
