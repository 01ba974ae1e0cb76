// A value on one named device has no sharded dimensions, whatever its rank: localization without planning does not panic.
// RUN: not shardc opt %s --passes import-gspmd,propagate,localize 2>&1 | FileCheck %s --implicit-check-not=panicked

// CHECK: error[SH0392]
func.func @main(%x: tensor<4x8xf32> {mhlo.sharding = "{maximal device=0}"},
                %w: tensor<8x2xf32> {mhlo.sharding = "{devices=[2,1]<=[2]}"}) -> tensor<4x2xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  return %0 : tensor<4x2xf32>
}
