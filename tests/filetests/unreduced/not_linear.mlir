// Operations that are not linear need the reduced value: products of two sums, integer divisions, widening integer
// conversions (whose sums wrap around), and exponentials. If such a result is annotated as unreduced, one device has it.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc verify %s
// RUN: shardc explain %s | FileCheck %s --check-prefix=WHY

// CHECK: %[[A:.*]]:2 = "stablehlo.all_reduce"(%arg0, %arg1)
// CHECK-DAG: stablehlo.convert %{{.*}} : (tensor<8xi8>) -> tensor<8xi32>
// CHECK-DAG: stablehlo.divide %{{.*}} : tensor<8xi32>
// CHECK: %[[E:.*]] = stablehlo.exponential
// CHECK: stablehlo.select %{{.*}}, %[[E]]
// WHY: stablehlo.multiply of {{.*}}: %a is unreduced; stablehlo.multiply is not linear in it, so the partial sums are reduced first
// WHY: stablehlo.divide of {{.*}}: %e is unreduced; stablehlo.divide is not linear in it
// WHY: stablehlo.convert of {{.*}}: %c is unreduced; stablehlo.convert is not linear in it
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}, %b: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>},
    %c: tensor<8xi8> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}, %d: tensor<8xi32>, %e: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>})
    -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}, tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>},
        tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced={"x"}>}) {
  %one = stablehlo.constant dense<1> : tensor<8xi32>
  %0 = stablehlo.multiply %a, %b : tensor<8xf32>
  %1 = stablehlo.convert %c : (tensor<8xi8>) -> tensor<8xi32>
  %2 = stablehlo.maximum %d, %one : tensor<8xi32>
  %3 = stablehlo.divide %e, %2 : tensor<8xi32>
  %4 = stablehlo.exponential %b : tensor<8xf32>
  return %0, %1, %3, %4 : tensor<8xf32>, tensor<8xi32>, tensor<8xi32>, tensor<8xf32>
}
