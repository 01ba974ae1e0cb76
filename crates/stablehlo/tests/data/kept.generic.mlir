"builtin.module"() <{sym_name = "kept"}> ({
  "sdy.mesh"() <{mesh = #sdy.mesh<["a"=2, "b"=2]>, sym_name = "mesh"}> : () -> ()
  "func.func"() <{function_type = (tensor<8x4xf32>, tensor<4x2xf32>, tensor<4xf32>, tensor<2xi32>) -> tensor<8x2xf32>, sym_name = "dialects"}> ({
  ^bb0(%arg2: tensor<8x4xf32>, %arg3: tensor<4x2xf32>, %arg4: tensor<4xf32>, %arg5: tensor<2xi32>):
    %0 = "stablehlo.dot"(%arg2, %arg3) : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    %1 = "stablehlo.dot"(%arg2, %arg4) <{precision_config = [#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]}> : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %2 = "sdy.constant"() <{value = dense<1.000000e+00> : tensor<8x2xf32>}> : () -> tensor<8x2xf32>
    %3 = "sdy.constant"() <{value = dense<[1, 2]> : tensor<2xi32>}> {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>} : () -> tensor<2xi32>
    %4 = "sdy.data_flow_edge"(%0) <{sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}> : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %5 = "sdy.data_flow_edge"(%1) : (tensor<8xf32>) -> tensor<8xf32>
    %6 = "func.call"(%4) <{callee = @impl2}> : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %7 = "sdy.func_data_flow_edge"(%6) : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %8 = "sdy.named_computation"(%7) <{in_shardings = #sdy.sharding_per_value<[<@mesh, [{"b"}, {}]>]>, name = "foo", out_shardings = #sdy.sharding_per_value<[<@mesh, [{"a"}, {}]>]>}> ({
    ^bb0(%arg7: tensor<8x2xf32>):
      %21 = "stablehlo.add"(%arg7, %arg7) : (tensor<8x2xf32>, tensor<8x2xf32>) -> tensor<8x2xf32>
      "sdy.return"(%21) : (tensor<8x2xf32>) -> ()
    }) {random = 1 : i64} : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %9 = "stablehlo.dynamic_iota"(%arg5) <{iota_dimension = 0 : i64}> : (tensor<2xi32>) -> tensor<?x?xi64>
    %10 = "stablehlo.dynamic_broadcast_in_dim"(%arg4, %arg5) <{broadcast_dimensions = array<i64: 1>}> : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %11 = "stablehlo.dynamic_reshape"(%arg2, %arg5) : (tensor<8x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %12 = "stablehlo.get_dimension_size"(%11) <{dimension = 1 : i64}> : (tensor<?x?xf32>) -> tensor<i32>
    %13 = "stablehlo.broadcast"(%arg4) <{broadcast_sizes = array<i64: 2, 3>}> : (tensor<4xf32>) -> tensor<2x3x4xf32>
    %14 = "chlo.broadcast_add"(%arg2, %arg4) <{broadcast_dimensions = array<i64: 1>}> : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
    %15 = "stablehlo.create_token"() : () -> !stablehlo.token
    %16 = "stablehlo.composite"(%arg2) <{composite_attributes = {n = 1 : i64}, decomposition = @impl, name = "my.op", version = 2 : i32}> : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %17 = "stablehlo.set_dimension_size"(%arg2, %12) <{dimension = 0 : i64}> : (tensor<8x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>>
    %18:3 = "stablehlo.batch_norm_training"(%arg2, %arg4, %arg4) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %19 = "chlo.tan"(%arg4) : (tensor<4xf32>) -> tensor<4xf32>
    %20 = "stablehlo.map"(%arg4) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg6: tensor<f32>):
      "stablehlo.return"(%arg6) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%8) : (tensor<8x2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<8x2xf32>) -> tensor<8x2xf32>, sym_name = "impl2", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<8x2xf32>):
    "func.return"(%arg1) : (tensor<8x2xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<8x4xf32>) -> tensor<8x4xf32>, sym_name = "impl", sym_visibility = "private"}> ({
  ^bb0(%arg0: tensor<8x4xf32>):
    "func.return"(%arg0) : (tensor<8x4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
