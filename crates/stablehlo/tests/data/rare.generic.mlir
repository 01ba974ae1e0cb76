"builtin.module"() ({
  "func.func"() <{function_type = (tensor<2x3x4xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>, sym_name = "normalization"}> ({
  ^bb0(%arg22: tensor<2x3x4xf32>, %arg23: tensor<3xf32>):
    %30:3 = "stablehlo.batch_norm_training"(%arg22, %arg23, %arg23) <{epsilon = 1.000000e-03 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
    %31 = "stablehlo.batch_norm_inference"(%30#0, %arg23, %arg23, %30#1, %30#2) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4xf32>
    %32:3 = "stablehlo.batch_norm_grad"(%31, %arg23, %30#1, %30#2, %arg22) <{epsilon = 0.000000e+00 : f32, feature_index = 1 : i64}> : (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3xf32>, tensor<3xf32>)
    "func.return"(%32#0) : (tensor<2x3x4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x8xf32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>, sym_name = "map_and_random"}> ({
  ^bb0(%arg17: tensor<4x8xf32>, %arg18: tensor<f32>, %arg19: tensor<2xi64>):
    %26 = "stablehlo.map"(%arg17, %arg17) <{dimensions = array<i64: 0, 1>}> ({
    ^bb0(%arg20: tensor<f32>, %arg21: tensor<f32>):
      %29 = "stablehlo.multiply"(%arg20, %arg21) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%29) : (tensor<f32>) -> ()
    }) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    %27 = "stablehlo.rng"(%arg18, %arg18, %arg19) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    %28 = "stablehlo.rng"(%arg18, %arg18, %arg19) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> {a} : (tensor<f32>, tensor<f32>, tensor<2xi64>) -> tensor<4x8xf32>
    "func.return"(%26) : (tensor<4x8xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<?x4xf32>, tensor<2xi64>, tensor<f32>, tensor<i32>, tensor<1x2x1xi32>, tensor<1x4x2xf32>, tensor<1x2xi32>, tensor<1x8x4xf32>) -> (), sym_name = "dynamic"}> ({
  ^bb0(%arg9: tensor<?x4xf32>, %arg10: tensor<2xi64>, %arg11: tensor<f32>, %arg12: tensor<i32>, %arg13: tensor<1x2x1xi32>, %arg14: tensor<1x4x2xf32>, %arg15: tensor<1x2xi32>, %arg16: tensor<1x8x4xf32>):
    %17 = "stablehlo.dynamic_reshape"(%arg9, %arg10) : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x?xf32>
    %18 = "stablehlo.dynamic_broadcast_in_dim"(%arg9, %arg10) <{broadcast_dimensions = array<i64: 0, 1>, known_expanding_dimensions = array<i64: 0>, known_nonexpanding_dimensions = array<i64: 1>}> : (tensor<?x4xf32>, tensor<2xi64>) -> tensor<?x4xf32>
    %19 = "stablehlo.dynamic_iota"(%arg10) <{iota_dimension = 1 : i64}> : (tensor<2xi64>) -> tensor<?x?xi32>
    %20 = "stablehlo.dynamic_pad"(%arg9, %arg11, %arg10, %arg10, %arg10) : (tensor<?x4xf32>, tensor<f32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %21 = "stablehlo.real_dynamic_slice"(%arg9, %arg10, %arg10, %arg10) : (tensor<?x4xf32>, tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<?x?xf32>
    %22 = "stablehlo.dynamic_gather"(%arg9, %arg13, %arg10) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = true}> : (tensor<?x4xf32>, tensor<1x2x1xi32>, tensor<2xi64>) -> tensor<1x2x?xf32>
    %23 = "stablehlo.dynamic_conv"(%arg16, %arg14, %arg15) <{batch_group_count = 1 : i64, dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, feature_group_count = 1 : i64, window_strides = array<i64: 2>}> : (tensor<1x8x4xf32>, tensor<1x4x2xf32>, tensor<1x2xi32>) -> tensor<1x?x2xf32>
    %24 = "stablehlo.get_dimension_size"(%arg9) <{dimension = 0 : i64}> : (tensor<?x4xf32>) -> tensor<i32>
    %25 = "stablehlo.set_dimension_size"(%arg16, %arg12) <{dimension = 1 : i64}> : (tensor<1x8x4xf32>, tensor<i32>) -> tensor<1x?x4xf32, #stablehlo.bounds<?, 8, ?>>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4x4xf32>, tensor<2xi32>) -> (), sym_name = "old"}> ({
  ^bb0(%arg7: tensor<4x4xf32>, %arg8: tensor<2xi32>):
    %12 = "stablehlo.broadcast"(%arg7) <{broadcast_sizes = array<i64: 2, 3>}> : (tensor<4x4xf32>) -> tensor<2x3x4x4xf32>
    %13 = "stablehlo.einsum"(%arg7, %arg7) <{einsum_config = "ab,bc->ac"}> : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
    %14 = "stablehlo.unary_einsum"(%arg7) <{einsum_config = "ab->a"}> : (tensor<4x4xf32>) -> tensor<4xf32>
    %15 = "stablehlo.torch_index_select"(%arg7, %arg8) <{batch_dims = 0 : i64, dim = 1 : i64}> : (tensor<4x4xf32>, tensor<2xi32>) -> tensor<4x2xf32>
    %16 = "stablehlo.cross-replica-sum"(%arg7) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token, sym_name = "devices"}> ({
  ^bb0(%arg2: tensor<4xf32>, %arg3: !stablehlo.token):
    %2 = "stablehlo.create_token"() : () -> !stablehlo.token
    %3:2 = "stablehlo.infeed"(%arg3) <{infeed_config = "in", layout = [[0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    %4 = "stablehlo.outfeed"(%arg2, %3#1) <{outfeed_config = ""}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %5 = "stablehlo.send"(%arg2, %4) <{channel_handle = #stablehlo.channel_handle<handle = 5, type = 1>, is_host_transfer = false, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
    %6:2 = "stablehlo.recv"(%5) <{channel_handle = #stablehlo.channel_handle<handle = 6, type = 3>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
    %7 = "stablehlo.async_start"(%arg2) ({
    ^bb0(%arg6: tensor<4xf32>):
      %11 = "stablehlo.slice"(%arg6) <{limit_indices = array<i64: 4>, start_indices = array<i64: 0>, strides = array<i64: 1>}> : (tensor<4xf32>) -> tensor<4xf32>
      "stablehlo.return"(%11) : (tensor<4xf32>) -> ()
    }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
    %8 = "stablehlo.async_done"(%7) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xf32>
    %9 = "stablehlo.all_reduce"(%8) <{channel_handle = #stablehlo.channel_handle<handle = 0, type = 0>, replica_groups = dense<0> : tensor<1x1xi64>}> ({
    ^bb0(%arg4: tensor<f32>, %arg5: tensor<f32>):
      %10 = "stablehlo.add"(%arg4, %arg5) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%10) : (tensor<f32>) -> ()
    }) : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%6#1) : (!stablehlo.token) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "decomposition", sym_visibility = "private"}> ({
  ^bb0(%arg1: tensor<4xf32>):
    "func.return"(%arg1) : (tensor<4xf32>) -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<4xf32>) -> tensor<4xf32>, sym_name = "composite"}> ({
  ^bb0(%arg0: tensor<4xf32>):
    %0 = "stablehlo.composite"(%arg0) <{composite_attributes = {a = "x", b = 2 : i64}, decomposition = @decomposition, name = "my.op", version = 3 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
    %1 = "stablehlo.composite"(%0) <{decomposition = @decomposition, name = "my.other"}> {d} : (tensor<4xf32>) -> tensor<4xf32>
    "func.return"(%1) : (tensor<4xf32>) -> ()
  }) : () -> ()
}) : () -> ()
