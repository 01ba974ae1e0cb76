// RUN: shardc opt %s --passes symbol-dce | FileCheck %s

// Meshes keep their positions among the remaining functions.
// CHECK: module
// CHECK-NEXT: func.func private @inner(
// CHECK: sdy.mesh @mesh
// CHECK-NEXT: func.func private @outer(
// CHECK: func.func @main(
// CHECK: func.func private @named()
// CHECK-NOT: func.func

func.func private @dead(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}
func.func private @inner(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  return %arg0 : tensor<8xf32>
}
// Only what is dead itself calls it.
func.func private @dead_caller(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @dead(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
sdy.mesh @mesh = <["x"=2]>
func.func private @outer(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @inner(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func @main(%arg0: tensor<8xf32>) -> tensor<8xf32> {
  %0 = call @outer(%arg0) {uses = @named} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @named()
