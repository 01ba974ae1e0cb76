// RUN: shardc opt %s --passes decompose | FileCheck %s

// A scan becomes a loop.

// CHECK-LABEL: func.func @main
func.func @main(%x: tensor<2x3xi32>, %init: tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>) {
  // CHECK: %[[ZERO:.*]] = stablehlo.constant dense<0> : tensor<i32>
  // CHECK: %[[BLANK:.*]] = stablehlo.constant dense<0> : tensor<2x3xi32>
  // CHECK: %[[LOOP:.*]]:4 = stablehlo.while(%[[I:.*]] = %[[ZERO]], %[[X:.*]] = %arg0, %[[OUT:.*]] = %[[BLANK]], %[[C:.*]] = %arg1)
  // CHECK: %[[END:.*]] = stablehlo.constant dense<3> : tensor<i32>
  // CHECK: stablehlo.compare LT, %[[I]], %[[END]], SIGNED
  // CHECK: stablehlo.dynamic_slice %[[X]], %{{.*}}, %[[I]], sizes = [2, 1]
  // CHECK: %[[SLICE:.*]] = stablehlo.reshape %{{.*}} : (tensor<2x1xi32>) -> tensor<2xi32>
  // CHECK: %[[SUM:.*]] = stablehlo.add %[[SLICE]], %[[C]] : tensor<2xi32>
  // CHECK: %[[NEXT:.*]] = stablehlo.add %[[I]], %{{.*}} : tensor<i32>
  // CHECK: %[[PUT:.*]] = stablehlo.dynamic_update_slice %[[OUT]], %{{.*}}, %{{.*}}, %[[I]]
  // CHECK: stablehlo.return %[[NEXT]], %[[X]], %[[PUT]], %[[SUM]]
  // CHECK: return %[[LOOP]]#2, %[[LOOP]]#3
  %0:2 = chlo.scan(%x) inits(%init) dimension=1 {
  ^bb0(%slice: tensor<2xi32>, %carry: tensor<2xi32>):
    %1 = stablehlo.add %slice, %carry : tensor<2xi32>
    stablehlo.return %1, %1 : tensor<2xi32>, tensor<2xi32>
  } : (tensor<2x3xi32>, tensor<2xi32>) -> (tensor<2x3xi32>, tensor<2xi32>)
  return %0#0, %0#1 : tensor<2x3xi32>, tensor<2xi32>
}
