// An edge between two arguments of a loop has no value with a printed sharding, so its debug attribute would not
// parse and is omitted. Edges to a result or to an operation's value are printed.
// RUN: shardc propagate %s --debug-propagation-edge-sharding | FileCheck %s
// RUN: shardc propagate %s --debug-propagation-edge-sharding -o %t.mlir && shardc opt %t.mlir | FileCheck %s

// CHECK: stablehlo.while
// CHECK: do
// CHECK: stablehlo.dot_general %{{[^,]*}}, %{{[^,]*}}, contracting_dims = [1] x [0] {sdy.sharding
// CHECK: stablehlo.dot_general {{.*}} {sdy.propagation_edges = #sdy.propagation_edges<[{step-{{[0-9]+}} = [{"a" = operand-0 -> [operand-1]}]}]>, sdy.sharding
// CHECK: stablehlo.add {{.*}}sdy.propagation_edges
sdy.mesh @mesh = <["a"=2]>
func.func @main(%m: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"a"}]>}, %v: tensor<8xf32>) -> tensor<8xf32> {
  %n = stablehlo.constant dense<4> : tensor<i32>
  %0:3 = stablehlo.while(%i = %n, %w = %m, %x = %v) : tensor<i32>, tensor<8x8xf32>, tensor<8xf32>
  cond {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %1 = stablehlo.compare GT, %i, %zero : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = stablehlo.dot_general %w, %x, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %2 = stablehlo.negate %1 : tensor<8xf32>
    %3 = stablehlo.dot_general %w, %2, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8xf32>) -> tensor<8xf32>
    %4 = stablehlo.add %x, %3 : tensor<8xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %5 = stablehlo.subtract %i, %one : tensor<i32>
    stablehlo.return %5, %w, %4 : tensor<i32>, tensor<8x8xf32>, tensor<8xf32>
  }
  return %0#2 : tensor<8xf32>
}
