// A tensor just below the size limit is padded so that all devices exchange equal parts: the padded size exceeds the limit.
// RUN: not shardc partition %s -o %t.mlir 2>&1 | FileCheck %s
// RUN: not shardc opt %s --passes propagate,plan,lower-reshards,localize 2>&1 | FileCheck %s

// CHECK: error[SH0414]: each device would need a tensor<72057594037927936x4xi8> here, which is too large: it has more than 2^56 bytes (64 PiB)
// CHECK-NEXT: too_large_padded.mlir:{{[0-9]+}}:3
// CHECK: help: dimensions that do not divide evenly are padded
sdy.mesh @mesh = <["x"=1, "y"=4]>
func.func @main(%a: tensor<72057594037927936x1xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<72057594037927936x1xi8> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>})
    -> tensor<72057594037927936x1xi8> {
  %0 = stablehlo.add %a, %b : tensor<72057594037927936x1xi8>
  return %0 : tensor<72057594037927936x1xi8>
}
