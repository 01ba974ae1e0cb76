module @shardings {
  sdy.mesh @mesh = <["data"=2, "model"=4]> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}]}}
  sdy.mesh @permuted = <["data"=2, "model"=2], device_ids=[3, 2, 1, 0]>
  sdy.mesh @one = <[], device_ids=[5]>
  sdy.mesh @empty = <[]>
  func.func @main(%arg0: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", "model":(1)2}, {?}]>, tf.aliasing_output = 0 : i32}, %arg1: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data", ?}p1, {?}], replicated={"model"}>}) -> (tensor<8x16xf32> {jax.result_info = "r", sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"data"}>}) {
    %0 = stablehlo.add %arg0, %arg1 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {?}]>]>} : tensor<8x16xf32>
    %1:2 = stablehlo.optimization_barrier {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{}, {"model":(2)2}]>]>} %0, %arg0 : tensor<8x16xf32>, tensor<8x16xf32>
    %2 = sdy.sharding_constraint %1#0 <@mesh, [{"data"}, {}]> : tensor<8x16xf32>
    %3 = sdy.reshard %2 <@mesh, [{}, {"data"}]> : tensor<8x16xf32>
    %4 = sdy.propagation_barrier %3 allowed_direction=BACKWARD : tensor<8x16xf32>
    sdy.sharding_group %4 group_id=3 : tensor<8x16xf32>
    %5 = sdy.manual_computation(%4, %arg1) in_shardings=[<@mesh, [{"data"}, {?}]>, <@mesh, [{"data"}, {?}]>] out_shardings=[<@mesh, [{"data"}, {?}]>] manual_axes={"data"} (%arg2: tensor<4x16xf32>, %arg3: tensor<4x16xf32>) {
      %7 = stablehlo.add %arg2, %arg3 : tensor<4x16xf32>
      %8 = sdy.manual_computation(%7) in_shardings=[<@mesh, [{}, {"model"}]>] out_shardings=[<@mesh, [{}, {"model"}]>] manual_axes={"model"} (%arg4: tensor<4x4xf32>) {
        sdy.return %arg4 : tensor<4x4xf32>
      } : (tensor<4x16xf32>) -> tensor<4x16xf32>
      sdy.return %8 : tensor<4x16xf32>
    } : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %cst = stablehlo.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} dense<0.000000e+00> : tensor<8x16xf32>
    sdy.manual_computation() in_shardings=[] out_shardings=[] manual_axes={} () {
      sdy.return
    } : () -> ()
    %6 = sdy.reshard %cst <mesh<["data"=2]>, [{"data"}, {}]> : tensor<8x16xf32>
    return %5 : tensor<8x16xf32>
  }
  func.func @collectives(%arg0: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}) -> tensor<16x8xf32> {
    %0 = sdy.all_gather [{}, {"model":(2)2}] %arg0 out_sharding=<@mesh, [{"data"}, {"model":(1)2}]> : tensor<16x8xf32>
    %1 = sdy.all_slice [{}, {"model":(2)2}] %0 out_sharding=<@mesh, [{"data"}, {"model"}]> : tensor<16x8xf32>
    %2 = sdy.all_to_all [{"model"}: 1->0] %1 out_sharding=<@mesh, [{"data", "model"}, {}]> : tensor<16x8xf32>
    %3 = sdy.collective_permute %2 out_sharding=<@mesh, [{"model", "data"}, {}]> : tensor<16x8xf32>
    %4 = sdy.all_gather [{"model", "data"}, {}] %3 out_sharding=<@mesh, [{}, {}]> : tensor<16x8xf32>
    %5 = sdy.all_reduce {"model"} %4 out_sharding=<@mesh, [{}, {}]> : tensor<16x8xf32>
    %6 = sdy.all_reduce {"model"} %5 out_sharding=<@mesh, [{}, {}]> : tensor<16x8xf32>
    %7 = sdy.reduce_scatter [{"data"}, {}] %6 out_sharding=<@mesh, [{"data"}, {}]> : tensor<16x8xf32>
    return %7 : tensor<16x8xf32>
  }
}
