"builtin.module"() <{sym_name = "shardings"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["data"=2, "model"=4]>, sym_name = "mesh"}> {stablehlo.mesh = {axes = [{name = "data", size = 2 : i64}]}} : () -> ()
  "sdy.mesh"() <{mesh = #sdy.mesh<["data"=2, "model"=2], device_ids=[3, 2, 1, 0]>, sym_name = "permuted"}> : () -> ()
  "sdy.mesh"() <{mesh = #sdy.mesh<[], device_ids=[5]>, sym_name = "one"}> : () -> ()
  "sdy.mesh"() <{mesh = #sdy.mesh<[]>, sym_name = "empty"}> : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"data", "model":(1)2}, {?}]>, tf.aliasing_output = 0 : i32}, {sdy.sharding = #sdy.sharding<@mesh, [{"data", ?}p1, {?}], replicated={"model"}>}], function_type = (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>, res_attrs = [{jax.result_info = "r", sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"data"}>}], sym_name = "main"}> ({
  ^bb0(%arg1: tensor<8x16xf32>, %arg2: tensor<8x16xf32>):
    %8 = "stablehlo.add"(%arg1, %arg2) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"data"}, {?}]>]>} : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %9:2 = "stablehlo.optimization_barrier"(%8, %arg1) {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>, <@mesh, [{}, {"model":(2)2}]>]>} : (tensor<8x16xf32>, tensor<8x16xf32>) -> (tensor<8x16xf32>, tensor<8x16xf32>)
    %10 = "sdy.sharding_constraint"(%9#0) <{sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %11 = "sdy.reshard"(%10) <{sharding = #sdy.sharding<@mesh, [{}, {"data"}]>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %12 = "sdy.propagation_barrier"(%11) <{allowed_direction = 2 : i32}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    "sdy.sharding_group"(%12) <{group_id = 3 : i64}> : (tensor<8x16xf32>) -> ()
    %13 = "sdy.manual_computation"(%12, %arg2) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"data"}, {?}]>, <@mesh, [{"data"}, {?}]>]>, manual_axes = #sdy<manual_axes{"data"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{"data"}, {?}]>]>}> ({
    ^bb0(%arg3: tensor<4x16xf32>, %arg4: tensor<4x16xf32>):
      %16 = "stablehlo.add"(%arg3, %arg4) : (tensor<4x16xf32>, tensor<4x16xf32>) -> tensor<4x16xf32>
      %17 = "sdy.manual_computation"(%16) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{}, {"model"}]>]>, manual_axes = #sdy<manual_axes{"model"}>, out_shardings = #sdy.sharding_per_value<[<@mesh, [{}, {"model"}]>]>}> ({
      ^bb0(%arg5: tensor<4x4xf32>):
        "sdy.return"(%arg5) : (tensor<4x4xf32>) -> ()
      }) : (tensor<4x16xf32>) -> tensor<4x16xf32>
      "sdy.return"(%17) : (tensor<4x16xf32>) -> ()
    }) : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
    %14 = "stablehlo.constant"() <{value = dense<0.000000e+00> : tensor<8x16xf32>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {}]>]>} : () -> tensor<8x16xf32>
    "sdy.manual_computation"() <{in_shardings = #sdy.sharding_per_value<[]>, manual_axes = #sdy<manual_axes{}>, out_shardings = #sdy.sharding_per_value<[]>}> ({
      "sdy.return"() : () -> ()
    }) : () -> ()
    %15 = "sdy.reshard"(%14) <{sharding = #sdy.sharding<mesh<["data"=2]>, [{"data"}, {}]>}> : (tensor<8x16xf32>) -> tensor<8x16xf32>
    "func.return"(%13) : (tensor<8x16xf32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>}], function_type = (tensor<16x8xf32>) -> tensor<16x8xf32>, sym_name = "collectives"}> ({
  ^bb0(%arg0: tensor<16x8xf32>):
    %0 = "sdy.all_gather"(%arg0) <{gathering_axes = #sdy<list_of_axis_ref_lists[{}, {"model":(2)2}]>, out_sharding = #sdy.sharding<@mesh, [{"data"}, {"model":(1)2}]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %1 = "sdy.all_slice"(%0) <{out_sharding = #sdy.sharding<@mesh, [{"data"}, {"model"}]>, slicing_axes = #sdy<list_of_axis_ref_lists[{}, {"model":(2)2}]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %2 = "sdy.all_to_all"(%1) <{out_sharding = #sdy.sharding<@mesh, [{"data", "model"}, {}]>, params = #sdy<all_to_all_param_list[{"model"}: 1->0]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %3 = "sdy.collective_permute"(%2) <{out_sharding = #sdy.sharding<@mesh, [{"model", "data"}, {}]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %4 = "sdy.all_gather"(%3) <{gathering_axes = #sdy<list_of_axis_ref_lists[{"model", "data"}, {}]>, out_sharding = #sdy.sharding<@mesh, [{}, {}]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %5 = "sdy.all_reduce"(%4) <{out_sharding = #sdy.sharding<@mesh, [{}, {}]>, reduction_axes = #sdy<axis_ref_list{"model"}>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %6 = "sdy.all_reduce"(%5) <{out_sharding = #sdy.sharding<@mesh, [{}, {}]>, reduction_axes = #sdy<axis_ref_list{"model"}>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    %7 = "sdy.reduce_scatter"(%6) <{out_sharding = #sdy.sharding<@mesh, [{"data"}, {}]>, reduce_scatter_axes = #sdy<list_of_axis_ref_lists[{"data"}, {}]>}> : (tensor<16x8xf32>) -> tensor<16x8xf32>
    "func.return"(%7) : (tensor<16x8xf32>) -> ()
  }) : () -> ()
}) : () -> ()
