// Module attributes may contain the shardings of the entry function, as one tuple or separately.
// RUN: shardc opt %s --passes import-gspmd 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNING --input-file=%t.err

// CHECK-NOT: spmd_parameters
// CHECK: sdy.mesh @mesh = <["axis_0"=4]>
// CHECK: %arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}]>}
// CHECK-SAME: %arg1: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>}
// CHECK-SAME: -> (tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"axis_0"}]>})
// WARNING: warning[SH0349]: the program requests XLA's automatic sharding, which is not supported; only its annotations are used
module attributes {mhlo.num_partitions = 4 : i32, mhlo.use_auto_spmd_partitioning = true,
                   mhlo.spmd_parameters_shardings = ["{devices=[4]<=[4]}", "{replicated}"],
                   mhlo.spmd_output_sharding = "{{devices=[4]<=[4]}}"} {
  func.func @main(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<8xf32> {
    %0 = stablehlo.add %a, %b : tensor<8xf32>
    return %0 : tensor<8xf32>
  }
}
