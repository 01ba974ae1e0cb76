// The devices of a host get the axis along which much is sent.
// RUN: shardc partition %s --target h100:2x8 -o /dev/null --summary 2>&1 | FileCheck %s --check-prefix=ASCENDING
// RUN: shardc partition %s --target h100:2x8 --device-order auto -o /dev/null --summary 2>&1 | FileCheck %s --check-prefix=AUTO
// RUN: shardc plan %s --target h100:2x8 | FileCheck %s --check-prefix=PLAN
// RUN: not shardc partition %s --device-order auto -o - 2>&1 | FileCheck %s --check-prefix=NONE

// ASCENDING-NOT: order of devices
// AUTO: order of devices: collectives take {{.*}} us instead of
// PLAN: put axes along which much is sent on fast links: {{.*}} faster
// PLAN-NEXT: --device-order auto
// NONE: --device-order auto needs the grid of the devices, as in --target v5e:4x4

sdy.mesh @mesh = <["model"=2, "data"=8]>
func.func @main(
    %x: tensor<64x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>},
    %w: tensor<8192x8192xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>}) -> tensor<64x8192xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<64x8192xf32>, tensor<8192x8192xf32>) -> tensor<64x8192xf32>
  return %0 : tensor<64x8192xf32>
}
