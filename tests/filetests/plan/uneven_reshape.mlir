// Ten rows of four elements in four shards of three rows are not four shards of ten elements: padded to equal shards
// of twelve, only the ends of shards are sent.
// RUN: shardc opt %s --passes propagate,plan -split-input-file -o %t.mlir 2> %t.err
// RUN: FileCheck %s < %t.mlir
// RUN: FileCheck %s --check-prefix=WARN --allow-empty < %t.err

// WARN-NOT: warning

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @main(%arg0: tensor<10x4xf32>
// CHECK-NOT: sdy.reshard
// CHECK: %[[ROWS:.*]] = stablehlo.pad %arg0, %{{.*}}, low = [0, 0], high = [2, 0]
// CHECK: %[[FLAT:.*]] = stablehlo.reshape %[[ROWS]] {{.*}} -> tensor<48xf32>
// CHECK: %[[CUT:.*]] = stablehlo.pad %[[FLAT]], %{{.*}}, low = [0], high = [-8]
// CHECK: stablehlo.reshape %[[CUT]] {{.*}} : (tensor<40xf32>) -> tensor<40xf32>
func.func @main(%a: tensor<10x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<40xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<10x4xf32>) -> tensor<40xf32>
  return %0 : tensor<40xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>

// CHECK-LABEL: func.func @main(%arg0: tensor<40xf32>
// CHECK-NOT: sdy.reshard
// CHECK: %[[MORE:.*]] = stablehlo.pad %{{.*}}, %{{.*}}, low = [0], high = [8]
// CHECK: %[[ROWS:.*]] = stablehlo.reshape %[[MORE]] {{.*}} -> tensor<12x4xf32>
// CHECK: stablehlo.slice %[[ROWS]] [0:10, 0:4]
func.func @main(%a: tensor<40xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<10x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %0 = stablehlo.reshape %a : (tensor<40xf32>) -> tensor<10x4xf32>
  return %0 : tensor<10x4xf32>
}

// -----

sdy.mesh @mesh = <["x"=4]>

// An even sharding needs only a local reshape.
// CHECK-LABEL: func.func @main(%arg0: tensor<8x4xf32>
// CHECK-NEXT: stablehlo.reshape %arg0 {{.*}} : (tensor<8x4xf32>) -> tensor<32xf32>
func.func @main(%a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> (tensor<32xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  %0 = stablehlo.reshape %a : (tensor<8x4xf32>) -> tensor<32xf32>
  return %0 : tensor<32xf32>
}
