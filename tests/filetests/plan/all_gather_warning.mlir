// An operation that cannot work on shards runs replicated on every device, with a warning that names it and its line.
// RUN: shardc opt %s --passes propagate,plan -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN < %t.err

sdy.mesh @mesh = <["x"=4]>

// CHECK: %[[WHOLE:.*]] = sdy.reshard %arg0 <@mesh, [{}]>
// CHECK: "stablehlo.sort"(%[[WHOLE]])
// WARN: warning[SH03{{[0-9]+}}]: {{.*}}stablehlo.sort
// WARN: = help:
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
