// RUN: shardc partition %s -o - 2>&1 | FileCheck %s --implicit-check-not=SH0310
//
// Padding that mirrors or repeats the rows at a border. A slice of a concatenation becomes a slice of its operand, so
// that both borders are known to be those of %a. A repeated row is an all-reduce of one row, broadcast on each
// device. The shards that move are sent in one exchange.

sdy.mesh @mesh = <["x"=8]>

// CHECK-LABEL: func.func public @main
func.func public @main(%a: tensor<64x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (
    tensor<80x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
    tensor<80x32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  // jnp.pad(a, ((8, 8), (0, 0)), mode="edge").
  // CHECK-NOT: all_gather
  // CHECK: all_reduce
  %0 = stablehlo.slice %a [0:1, 0:32] : (tensor<64x32xf32>) -> tensor<1x32xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 2] : (tensor<1x32xf32>) -> tensor<1x8x32xf32>
  %2 = stablehlo.reshape %1 : (tensor<1x8x32xf32>) -> tensor<8x32xf32>
  %3 = stablehlo.slice %a [63:64, 0:32] : (tensor<64x32xf32>) -> tensor<1x32xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 2] : (tensor<1x32xf32>) -> tensor<1x8x32xf32>
  %5 = stablehlo.reshape %4 : (tensor<1x8x32xf32>) -> tensor<8x32xf32>
  %6 = stablehlo.concatenate %2, %a, %5, dim = 0 : (tensor<8x32xf32>, tensor<64x32xf32>, tensor<8x32xf32>) -> tensor<80x32xf32>
  // jnp.pad(a, ((8, 8), (0, 0)), mode="reflect").
  // CHECK-NOT: all_gather
  // CHECK: return
  %7 = stablehlo.slice %a [1:9, 0:32] : (tensor<64x32xf32>) -> tensor<8x32xf32>
  %8 = stablehlo.reverse %7, dims = [0] : tensor<8x32xf32>
  %9 = stablehlo.concatenate %8, %a, dim = 0 : (tensor<8x32xf32>, tensor<64x32xf32>) -> tensor<72x32xf32>
  %10 = stablehlo.slice %9 [63:71, 0:32] : (tensor<72x32xf32>) -> tensor<8x32xf32>
  %11 = stablehlo.reverse %10, dims = [0] : tensor<8x32xf32>
  %12 = stablehlo.concatenate %9, %11, dim = 0 : (tensor<72x32xf32>, tensor<8x32xf32>) -> tensor<80x32xf32>
  return %6, %12 : tensor<80x32xf32>, tensor<80x32xf32>
}
