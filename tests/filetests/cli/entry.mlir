// --entry names the function to compile; functions that it does not call are dropped.
// RUN: shardc partition %s --entry step -o - | FileCheck %s
// RUN: shardc grad %s --entry loss --wrt arg0 | FileCheck %s --check-prefix=GRAD
// RUN: not shardc partition %s --entry setp -o %t 2>&1 | FileCheck %s --check-prefix=MISSPELT

// CHECK: func.func public @step(%arg0: tensor<4xf32>)
// CHECK-NOT: @main
// GRAD: @loss(%arg0: tensor<f32>
// MISSPELT: error[SH0362]: the program has no function 'setp'
// MISSPELT: did you mean step? its functions are main, step, loss
sdy.mesh @mesh = <["data"=2]>
func.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
  return %arg0 : tensor<4xf32>
}
func.func public @step(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) -> tensor<8xf32> {
  %0 = stablehlo.tanh %arg0 : tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func public @loss(%arg0: tensor<f32>) -> tensor<f32> {
  %0 = stablehlo.tanh %arg0 : tensor<f32>
  return %0 : tensor<f32>
}
