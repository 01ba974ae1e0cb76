module @shardings {
  sdy.mesh @mesh = <["x"=2, "y"=4]>
  sdy.mesh @other = <["x"=4, "y"=2], device_ids=[0, 2, 4, 6, 1, 3, 5, 7]>
  func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y":(1)2, ?}p1]>}, %arg1: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {}], replicated={"y"}>}) -> (tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {?}]>}) {
    %0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}], unreduced={"y"}>]>} : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"x"}]> : tensor<8x8xf32>
    %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%arg2: tensor<4x8xf32>) {
      %8 = stablehlo.negate %arg2 : tensor<4x8xf32>
      sdy.return %8 : tensor<4x8xf32>
    } : (tensor<8x8xf32>) -> tensor<8x8xf32>
    %3 = sdy.reshard %2 <@mesh, [{"x"}, {"y"}]> : tensor<8x8xf32>
    %4 = sdy.all_gather [{}, {"y"}] %3 out_sharding=<@mesh, [{"x"}, {}]> : tensor<8x8xf32>
    %5 = sdy.all_to_all [{"x"}: 0->1] %4 out_sharding=<@mesh, [{}, {"x"}]> : tensor<8x8xf32>
    %6 = sdy.propagation_barrier %5 allowed_direction=FORWARD : tensor<8x8xf32>
    sdy.sharding_group %6 group_id=3 : tensor<8x8xf32>
    %7 = stablehlo.custom_call @foo(%6) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, jk])->([i, jk]) {i=8, j=4, k=2} need_replication={k}, custom>} : (tensor<8x8xf32>) -> tensor<8x8xf32>
    return %7 : tensor<8x8xf32>
  }
}
