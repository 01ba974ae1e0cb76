// --strict turns the warning about an all-gather that no annotation requests into an error; no output is written then.
// RUN: shardc partition %s -o %t.loose.mlir 2>&1 | FileCheck %s --check-prefix=LOOSE
// RUN: not shardc partition %s -o %t.strict.mlir --strict 2>&1 | FileCheck %s --check-prefix=STRICT
// RUN: not test -e %t.strict.mlir

sdy.mesh @mesh = <["x"=4]>

// LOOSE: warning[SH0310]: {{.*}}stablehlo.sort
// LOOSE-NOT: error
// STRICT: error[SH0310]: {{.*}}stablehlo.sort
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
  %0 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%l: tensor<f32>, %r: tensor<f32>):
    %1 = stablehlo.compare LT, %l, %r : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  }) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
