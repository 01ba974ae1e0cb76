// RUN: shardc partition %s -o - | FileCheck %s --implicit-check-not=all_gather
//
// Each device slices its part from a replicated operand, and from one that is cheap to compute: neither is sent.
// Devices 2 and 3 get the two halves of %b, half of which device 3 has.

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func public @main
func.func public @main(
    %a: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
    %b: tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (
    tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    tensor<8x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  // CHECK: collective_permute"({{.*}}) <{source_target_pairs
  // CHECK-SAME: (tensor<2x64xf32>) -> tensor<2x64xf32>
  // CHECK: collective_permute"({{.*}}) <{source_target_pairs
  // CHECK-SAME: (tensor<2x64xf32>) -> tensor<2x64xf32>
  %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<16x64xf32>
  // A shift by one row, with zeros in the first.
  // CHECK: collective_permute"({{.*}}) <{source_target_pairs = dense<{{\[}}[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<1x64xf32>) -> tensor<1x64xf32>
  // CHECK-NOT: collective_permute
  %zero = stablehlo.constant dense<0.0> : tensor<1x64xf32>
  %1 = stablehlo.slice %b [0:7, 0:64] : (tensor<8x64xf32>) -> tensor<7x64xf32>
  %2 = stablehlo.concatenate %zero, %1, dim = 0 : (tensor<1x64xf32>, tensor<7x64xf32>) -> tensor<8x64xf32>
  return %0, %2 : tensor<16x64xf32>, tensor<8x64xf32>
}
