// XLA's CPU client has no bf16 matmul with an f32 result: the operands are cast to f32.
// RUN: shardc opt %s --passes 'legalize-backend{target=cpu}' | FileCheck %s
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s --check-prefix=OTHERS
func.func @main(%x: tensor<4x8xbf16>, %y: tensor<8x2xbf16>) -> (tensor<4x2xf32>, tensor<4x2xbf16>) {
  // CHECK: %[[X:.*]] = stablehlo.convert %arg0 : (tensor<4x8xbf16>) -> tensor<4x8xf32>
  // CHECK: %[[Y:.*]] = stablehlo.convert %arg1 : (tensor<8x2xbf16>) -> tensor<8x2xf32>
  // CHECK: stablehlo.dot_general %[[X]], %[[Y]]
  // OTHERS-NOT: convert
  %wide = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xf32>
  // CHECK: stablehlo.dot_general %arg0, %arg1
  %narrow = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<4x8xbf16>, tensor<8x2xbf16>) -> tensor<4x2xbf16>
  return %wide, %narrow : tensor<4x2xf32>, tensor<4x2xbf16>
}
