// Other reductions pass through operations that commute with them, and are completed before others. The maximum of
// equal numbers is that number, so a fed value is given to every device.
// RUN: shardc partition %s -o - | FileCheck %s
// RUN: shardc verify %s

// CHECK: %[[M:.*]] = stablehlo.maximum %arg0, %arg1
// CHECK-NEXT: %[[T:.*]] = stablehlo.transpose %[[M]]
// CHECK-NEXT: %[[A:.*]]:2 = "stablehlo.all_reduce"(%arg0, %arg1)
// CHECK: stablehlo.maximum
// CHECK: stablehlo.add %[[A]]#0, %[[A]]#1
// CHECK: %[[R:.*]] = stablehlo.reduce(%arg2
// CHECK-NEXT: return %[[T]], %{{.*}}, %[[R]]
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced=max{"y"}>}, %m: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced=max{"y"}>}, %s: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced=max{"y"}>}, tensor<8x8xf32>, tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=max{"x"}>}) {
    %i = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %1 = stablehlo.maximum %a, %m : tensor<8x8xf32>
    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = stablehlo.add %a, %m : tensor<8x8xf32>
    %4 = stablehlo.reduce(%s init: %i) applies stablehlo.maximum across dimensions = [0] : (tensor<8x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %2, %3, %4 : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8xf32>
}
