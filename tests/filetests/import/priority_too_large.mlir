// RUN: not shardc opt %s --passes import-gspmd 2>&1 | FileCheck %s
// A priority must fit in 32 bits.
// CHECK: error[SH0341]
// CHECK-SAME: priority 4294967296 is too large: the maximum is 4294967295
module attributes {mhlo.frontend_attributes = {xla.sdy.meshes = "{mesh = #sdy.mesh<[\22a\22=2]>}"}} {
  func.func @main(%a: tensor<8xf32> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22a\22}p4294967296]>"}, mhlo.sharding = "{devices=[2]<=[2]}"}) -> tensor<8xf32> {
    return %a : tensor<8xf32>
  }
}
