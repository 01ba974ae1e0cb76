// Names of arguments and source lines of the input are kept in the output of every command, so commands can be chained by name.
// RUN: shardc opt %s | FileCheck %s --check-prefix=CHECK
// RUN: shardc opt %s --locations none | FileCheck %s --check-prefix=NONE
// RUN: shardc propagate %s | FileCheck %s
// RUN: shardc partition %s -o - 2>/dev/null | FileCheck %s
// RUN: shardc partition %s -o - --emit generic 2>/dev/null | FileCheck %s --check-prefix=GENERIC
// RUN: shardc grad %s --wrt "params['w']" -o %t.grad && shardc partition %t.grad --spec "params['w']=-,x" -o - 2>/dev/null | FileCheck %s --check-prefix=GRAD
// RUN: shardc lora %s --rank 2 --targets params --role batch=batch -o %t.lora 2>/dev/null && FileCheck %s --check-prefix=LORA --input-file %t.lora

// CHECK: #loc{{[0-9]*}} = loc("params['w']")
// CHECK: func.func @main(%arg0: tensor<{{.*}}loc("params['w']"), %arg1: tensor<{{.*}}loc("batch")
// CHECK: stablehlo.dot_general {{.*}} loc(#loc[[DOT:[0-9]+]])
// CHECK: loc("model.py":7:3)
// NONE-NOT: loc(
// NONE: stablehlo.dot_general
// GENERIC: "stablehlo.dot_general"{{.*}} loc(#loc
// GRAD: loc("params['w']")
// GRAD: loc("model.py":7:3)
// LORA: loc("params['w']")
sdy.mesh @mesh = <["x"=2]>
func.func @main(%arg0: tensor<4x4xf32> loc("params['w']"), %arg1: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>} loc("batch")) -> tensor<f32> {
  %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0] : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32> loc("dot"("model.py":7:3))
  %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
  %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x4xf32>, tensor<f32>) -> tensor<f32>
  return %1 : tensor<f32>
}
