// The decomposition of a composite, even if private, is passed to back ends, whether or not shardings are imported before.
// RUN: shardc opt %s --passes legalize-backend | FileCheck %s
// RUN: shardc opt %s --passes import-gspmd,legalize-backend | FileCheck %s

// CHECK: func.func public @main
// CHECK: stablehlo.composite "my.op" {{.*}}decomposition = @inner
// CHECK: func.func private @inner
// CHECK: stablehlo.composite "my.part" {{.*}}decomposition = @part
// CHECK: func.func private @part
func.func public @main(%a: tensor<8xf32> {mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<8xf32> {
  %0 = stablehlo.custom_call @Sharding(%a) {mhlo.sharding = "{devices=[2]<=[2]}"} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = stablehlo.composite "my.op" %0 {decomposition = @inner} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
func.func private @inner(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.composite "my.part" %a {decomposition = @part} : (tensor<8xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
func.func private @part(%a: tensor<8xf32>) -> tensor<8xf32> {
  %0 = stablehlo.negate %a : tensor<8xf32>
  return %0 : tensor<8xf32>
}
