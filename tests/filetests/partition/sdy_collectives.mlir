// sdy collectives only specify the sharding of their results, and do not change values: shardc itself chooses the
// collectives to lower them to.
// RUN: shardc partition %s -o - | FileCheck %s

sdy.mesh @mesh = <["x"=2, "y"=2]>

// CHECK-LABEL: func.func @f(%arg0: tensor<1xi32>, %arg1: tensor<4x2xf32>, %arg2: tensor<2x4xf32>) -> (tensor<1xi32>, tensor<4x4xf32>)
// CHECK: "stablehlo.collective_permute"(%arg0)
// CHECK-SAME: source_target_pairs = dense<{{\[\[0, 0\], \[2, 1\], \[1, 2\], \[3, 3\]\]}}>
// CHECK: stablehlo.dot_general
// CHECK: "stablehlo.all_reduce"
// CHECK-NOT: sdy.
func.func @f(%a: tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}]>},
             %b: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
             %c: tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>})
    -> (tensor<4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}]>},
        tensor<4x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = sdy.collective_permute %a out_sharding=<@mesh, [{"y", "x"}]> : tensor<4xi32>
  %1 = stablehlo.dot_general %b, %c, contracting_dims = [1] x [0] : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = sdy.all_reduce {"x"} %1 out_sharding=<@mesh, [{}, {}]> : tensor<4x4xf32>
  return %0, %2 : tensor<4xi32>, tensor<4x4xf32>
}
