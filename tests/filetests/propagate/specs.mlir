// A program without annotations is annotated on the command line, by position, result or pattern.
// RUN: shardc propagate %s --mesh data=4,model=2 --spec arg0=data,- --spec "arg1=-,model" | FileCheck %s
// RUN: shardc propagate %s --mesh data=4,model=2 --spec "arg*=data+model,..." | FileCheck %s --check-prefix=BOTH
// RUN: shardc propagate %s --mesh data=4,model=2 --spec result0=data,model | FileCheck %s --check-prefix=RESULT

// CHECK: sdy.mesh @mesh = <["data"=4, "model"=2]>
// CHECK: %arg0: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}, %arg1: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}
// BOTH: %arg0: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>}, %arg1: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>}
// RESULT: -> (tensor<32x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>})
func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  return %0 : tensor<32x16xf32>
}
