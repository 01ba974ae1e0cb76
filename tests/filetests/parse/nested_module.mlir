// The outermost module with functions is the program; enclosing modules are kept around it.
// RUN: shardc propagate %s | FileCheck %s

// CHECK: module @outer {
// CHECK-NEXT: module @inner {
// CHECK-NEXT: sdy.mesh @mesh = <["x"=2]>
// CHECK-NEXT: func.func @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
// CHECK: module @other {
module @outer {
  module @inner {
    sdy.mesh @mesh = <["x"=2]>
    func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<8xf32> {
      return %a : tensor<8xf32>
    }
  }
  module @other {
  }
}
