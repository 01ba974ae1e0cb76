// A sharding with a named mesh does not refer to the mesh that is derived from the number of partitions.
// RUN: not shardc partition %s -o - 2>&1 | FileCheck %s
module @m attributes {mhlo.num_partitions = 2 : i32} {
  // CHECK: error[SH0341]: {{.*}} there is no mesh @mesh
  func.func public @main(%arg0: tensor<8xf64> {mhlo.frontend_attributes = {xla.sdy.sharding = "#sdy.sharding<@mesh, [{\22x\22}]>"}}) -> tensor<8xf64> {
    return %arg0 : tensor<8xf64>
  }
}
