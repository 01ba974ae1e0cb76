// Values that are computed only from iotas and constants are never sent: each device computes the shard that a user
// needs, whatever its own sharding is.
// RUN: shardc opt %s --passes propagate,plan,dce -split-input-file -o %t.mlir 2> %t.err
// RUN: FileCheck %s --implicit-check-not=sdy.reshard < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN --allow-empty < %t.err
// WARN-NOT: warning

sdy.mesh @mesh = <["x"=4]>

// CHECK: %[[COLS:.*]] = stablehlo.iota dim = 0 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}]>]>} : tensor<64xi32>
// CHECK: stablehlo.broadcast_in_dim %[[COLS]], dims = [1]
func.func @causal_mask(%s: tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<64x64xf32> {
  %i = stablehlo.iota dim = 0 : tensor<64xi32>
  %r1 = stablehlo.broadcast_in_dim %i, dims = [0] : (tensor<64xi32>) -> tensor<64x1xi32>
  %c1 = stablehlo.broadcast_in_dim %i, dims = [1] : (tensor<64xi32>) -> tensor<1x64xi32>
  %r = stablehlo.broadcast_in_dim %r1, dims = [0, 1] : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %c = stablehlo.broadcast_in_dim %c1, dims = [0, 1] : (tensor<1x64xi32>) -> tensor<64x64xi32>
  %m = stablehlo.compare GE, %r, %c : (tensor<64x64xi32>, tensor<64x64xi32>) -> tensor<64x64xi1>
  %z = stablehlo.constant dense<0.0> : tensor<64x64xf32>
  %o = stablehlo.select %m, %s, %z : tensor<64x64xi1>, tensor<64x64xf32>
  return %o : tensor<64x64xf32>
}

// -----

// A table that is constrained to one sharding is read in another one.
sdy.mesh @mesh = <["x"=4]>

// CHECK: stablehlo.cosine %{{.*}} {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>}
func.func @table(%s: tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<16x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %i = stablehlo.iota dim = 1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<16x64xf32>
  %t = stablehlo.cosine %i {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"x"}]>]>} : tensor<16x64xf32>
  %o = stablehlo.multiply %t, %s {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<16x64xf32>
  return %o : tensor<16x64xf32>
}
