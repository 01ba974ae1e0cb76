// Padding with the nearest row and column in a loop (`jnp.pad` with "edge"), sharded along two axes: devices exchange
// borders. Each iteration sends less than 10 rows and columns of shards of 128 by 256 elements; there is no all-gather.
// RUN: shardc partition %s --strict --warn-bytes 0 -o %t.mlir
// RUN: FileCheck %s < %t.mlir

// CHECK: stablehlo.while
// CHECK-NOT: all_gather
// CHECK-NOT: all_to_all
// CHECK-NOT: all_reduce
// CHECK: return
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func public @main(%arg0: tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) -> (tensor<512x512xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%iterArg = %c, %iterArg_0 = %arg0) : tensor<i32>, tensor<512x512xf32>
  cond {
    %c_1 = stablehlo.constant dense<10> : tensor<i32>
    %1 = stablehlo.compare LT, %iterArg, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %1 = func.call @closed_call(%iterArg_0) : (tensor<512x512xf32>) -> tensor<512x512xf32>
    %c_1 = stablehlo.constant dense<1> : tensor<i32>
    %2 = stablehlo.add %iterArg, %c_1 : tensor<i32>
    stablehlo.return %2, %1 : tensor<i32>, tensor<512x512xf32>
  }
  return %0#1 : tensor<512x512xf32>
}
func.func private @closed_call(%arg0: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.slice %arg0 [2:512, 1:511] : (tensor<512x512xf32>) -> tensor<510x510xf32>
  %1 = stablehlo.slice %arg0 [0:510, 1:511] : (tensor<512x512xf32>) -> tensor<510x510xf32>
  %2 = stablehlo.add %0, %1 : tensor<510x510xf32>
  %3 = stablehlo.slice %arg0 [1:511, 2:512] : (tensor<512x512xf32>) -> tensor<510x510xf32>
  %4 = stablehlo.add %2, %3 : tensor<510x510xf32>
  %5 = stablehlo.slice %arg0 [1:511, 0:510] : (tensor<512x512xf32>) -> tensor<510x510xf32>
  %6 = stablehlo.add %4, %5 : tensor<510x510xf32>
  %cst = stablehlo.constant dense<2.500000e-01> : tensor<f32>
  %7 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<510x510xf32>
  %8 = stablehlo.multiply %7, %6 : tensor<510x510xf32>
  %9 = call @_pad(%8) : (tensor<510x510xf32>) -> tensor<512x512xf32>
  return %9 : tensor<512x512xf32>
}
func.func private @_pad(%arg0: tensor<510x510xf32>) -> tensor<512x512xf32> {
  %0 = stablehlo.slice %arg0 [0:1, 0:510] : (tensor<510x510xf32>) -> tensor<1x510xf32>
  %1 = stablehlo.broadcast_in_dim %0, dims = [0, 2] : (tensor<1x510xf32>) -> tensor<1x1x510xf32>
  %2 = stablehlo.reshape %1 : (tensor<1x1x510xf32>) -> tensor<1x510xf32>
  %3 = stablehlo.slice %arg0 [509:510, 0:510] : (tensor<510x510xf32>) -> tensor<1x510xf32>
  %4 = stablehlo.broadcast_in_dim %3, dims = [0, 2] : (tensor<1x510xf32>) -> tensor<1x1x510xf32>
  %5 = stablehlo.reshape %4 : (tensor<1x1x510xf32>) -> tensor<1x510xf32>
  %6 = stablehlo.concatenate %2, %arg0, %5, dim = 0 : (tensor<1x510xf32>, tensor<510x510xf32>, tensor<1x510xf32>) -> tensor<512x510xf32>
  %7 = stablehlo.slice %6 [0:512, 0:1] : (tensor<512x510xf32>) -> tensor<512x1xf32>
  %8 = stablehlo.broadcast_in_dim %7, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x1x1xf32>
  %9 = stablehlo.reshape %8 : (tensor<512x1x1xf32>) -> tensor<512x1xf32>
  %10 = stablehlo.slice %6 [0:512, 509:510] : (tensor<512x510xf32>) -> tensor<512x1xf32>
  %11 = stablehlo.broadcast_in_dim %10, dims = [0, 1] : (tensor<512x1xf32>) -> tensor<512x1x1xf32>
  %12 = stablehlo.reshape %11 : (tensor<512x1x1xf32>) -> tensor<512x1xf32>
  %13 = stablehlo.concatenate %9, %6, %12, dim = 1 : (tensor<512x1xf32>, tensor<512x510xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
  return %13 : tensor<512x512xf32>
}
