// MHLO operations that XLA's converter from HLO leaves are parsed, and do not occur in partitions.
// RUN: shardc opt %s | FileCheck %s --check-prefix=READ
// RUN: shardc partition %s --mesh x=8 --spec arg0=x --summary -o - | FileCheck %s --implicit-check-not=mhlo.copy --implicit-check-not=all_ --implicit-check-not=collective_

// CHECK: func.func @main(%arg0: tensor<1xf32>) -> (tensor<1xf32>, tensor<1xf32>, tensor<1xf32>)
func.func @main(%arg0: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // READ: mhlo.copy %arg0 : tensor<8xf32>
  %0 = mhlo.copy %arg0 : tensor<8xf32>
  // READ: mhlo.exp2
  // CHECK: %[[LN2:.*]] = stablehlo.constant dense<0.693147182> : tensor<1xf32>
  // CHECK: %[[SCALED:.*]] = stablehlo.multiply %arg0, %[[LN2]]
  // CHECK: %[[EXP2:.*]] = stablehlo.exponential %[[SCALED]]
  %1 = mhlo.exp2 %0 : tensor<8xf32>
  // READ: mhlo.log2 
  // CHECK-DAG: stablehlo.log %arg0
  // CHECK-DAG: stablehlo.constant dense<1.44269502>
  // CHECK: %[[LOG2:.*]] = stablehlo.multiply
  %2 = "mhlo.log2"(%0) : (tensor<8xf32>) -> tensor<8xf32>
  // READ: mhlo.erf %{{.*}} : tensor<8xf32>
  // CHECK: chlo.erf
  %3 = mhlo.erf %2 : tensor<8xf32>
  return %0, %1, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
