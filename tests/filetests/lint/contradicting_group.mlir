// Two values of one group have different annotations; there is no conflict if one extends the other's open dimensions.
// RUN: shardc lint %s --allow all --deny contradicting-group > %t.txt; test $? = 1
// RUN: FileCheck %s --input-file=%t.txt

sdy.mesh @mesh = <["data"=4, "model"=2]>

// CHECK: error[SH0904]: values of sharding group 7 have the contradicting shardings [{"data"}, {}] and [{"model"}, {}]
// CHECK-NEXT: contradicting_group.mlir:[[#@LINE+10]]:3
// CHECK: the other value of the group
// CHECK-NOT: group 8
// CHECK: 1 error, 0 warnings
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %y: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
                %z: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
                %u: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", ?}, {?}]>})
    -> (tensor<32x64xf32>, tensor<32x64xf32>) {
  sdy.sharding_group %x group_id = 7 : tensor<32x64xf32>
  sdy.sharding_group %y group_id = 7 : tensor<32x64xf32>
  sdy.sharding_group %z group_id = 8 : tensor<32x64xf32>
  sdy.sharding_group %u group_id = 8 : tensor<32x64xf32>
  %0 = stablehlo.add %x, %z : tensor<32x64xf32>
  %1 = stablehlo.add %y, %u : tensor<32x64xf32>
  return %0, %1 : tensor<32x64xf32>, tensor<32x64xf32>
}
