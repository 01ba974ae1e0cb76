module @jit_train_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func public @main(%arg0: tensor<64x64xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<64xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<64xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<32x64xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<64x32xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<64x32xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<64x1x8xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<2x8x64xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<64x2x8xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<64x1x8xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<64xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<64xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<32x64xf32> {tf.aliasing_output = 12 : i32}, %arg13: tensor<64x32xf32> {tf.aliasing_output = 13 : i32}, %arg14: tensor<64x32xf32> {tf.aliasing_output = 14 : i32}, %arg15: tensor<64x1x8xf32> {tf.aliasing_output = 15 : i32}, %arg16: tensor<2x8x64xf32> {tf.aliasing_output = 16 : i32}, %arg17: tensor<64x2x8xf32> {tf.aliasing_output = 17 : i32}, %arg18: tensor<64x1x8xf32> {tf.aliasing_output = 18 : i32}, %arg19: tensor<64x64xf32> {tf.aliasing_output = 19 : i32}, %arg20: tensor<64xf32> {tf.aliasing_output = 20 : i32}, %arg21: tensor<i32> {tf.aliasing_output = 21 : i32}, %arg22: tensor<64x64xf32> {tf.aliasing_output = 22 : i32}, %arg23: tensor<64xf32> {tf.aliasing_output = 23 : i32}, %arg24: tensor<64xf32> {tf.aliasing_output = 24 : i32}, %arg25: tensor<32x64xf32> {tf.aliasing_output = 25 : i32}, %arg26: tensor<64x32xf32> {tf.aliasing_output = 26 : i32}, %arg27: tensor<64x32xf32> {tf.aliasing_output = 27 : i32}, %arg28: tensor<64x1x8xf32> {tf.aliasing_output = 28 : i32}, %arg29: tensor<2x8x64xf32> {tf.aliasing_output = 29 : i32}, %arg30: tensor<64x2x8xf32> {tf.aliasing_output = 30 : i32}, %arg31: tensor<64x1x8xf32> {tf.aliasing_output = 31 : i32}, %arg32: tensor<64xf32> {tf.aliasing_output = 32 : i32}, %arg33: tensor<64xf32> {tf.aliasing_output = 33 : i32}, %arg34: tensor<32x64xf32> {tf.aliasing_output = 34 : i32}, %arg35: tensor<64x32xf32> {tf.aliasing_output = 35 : i32}, %arg36: tensor<64x32xf32> {tf.aliasing_output = 36 : i32}, %arg37: tensor<64x1x8xf32> {tf.aliasing_output = 37 : i32}, %arg38: tensor<2x8x64xf32> {tf.aliasing_output = 38 : i32}, %arg39: tensor<64x2x8xf32> {tf.aliasing_output = 39 : i32}, %arg40: tensor<64x1x8xf32> {tf.aliasing_output = 40 : i32}, %arg41: tensor<64x64xf32> {tf.aliasing_output = 41 : i32}, %arg42: tensor<64xf32> {tf.aliasing_output = 42 : i32}, %arg43: tensor<64x64xf32> {tf.aliasing_output = 43 : i32}, %arg44: tensor<64xf32> {tf.aliasing_output = 44 : i32}, %arg45: tensor<64xf32> {tf.aliasing_output = 45 : i32}, %arg46: tensor<32x64xf32> {tf.aliasing_output = 46 : i32}, %arg47: tensor<64x32xf32> {tf.aliasing_output = 47 : i32}, %arg48: tensor<64x32xf32> {tf.aliasing_output = 48 : i32}, %arg49: tensor<64x1x8xf32> {tf.aliasing_output = 49 : i32}, %arg50: tensor<2x8x64xf32> {tf.aliasing_output = 50 : i32}, %arg51: tensor<64x2x8xf32> {tf.aliasing_output = 51 : i32}, %arg52: tensor<64x1x8xf32> {tf.aliasing_output = 52 : i32}, %arg53: tensor<64xf32> {tf.aliasing_output = 53 : i32}, %arg54: tensor<64xf32> {tf.aliasing_output = 54 : i32}, %arg55: tensor<32x64xf32> {tf.aliasing_output = 55 : i32}, %arg56: tensor<64x32xf32> {tf.aliasing_output = 56 : i32}, %arg57: tensor<64x32xf32> {tf.aliasing_output = 57 : i32}, %arg58: tensor<64x1x8xf32> {tf.aliasing_output = 58 : i32}, %arg59: tensor<2x8x64xf32> {tf.aliasing_output = 59 : i32}, %arg60: tensor<64x2x8xf32> {tf.aliasing_output = 60 : i32}, %arg61: tensor<64x1x8xf32> {tf.aliasing_output = 61 : i32}, %arg62: tensor<64x64xf32> {tf.aliasing_output = 62 : i32}, %arg63: tensor<64xf32> {tf.aliasing_output = 63 : i32}, %arg64: tensor<4x32xi32>, %arg65: tensor<4x32xi32>) -> (tensor<64x64xf32> {jax.result_info = "result[0]['embed']"}, tensor<64xf32> {jax.result_info = "result[0]['layers'][0]['attn_norm']"}, tensor<64xf32> {jax.result_info = "result[0]['layers'][0]['mlp_norm']"}, tensor<32x64xf32> {jax.result_info = "result[0]['layers'][0]['w_down']"}, tensor<64x32xf32> {jax.result_info = "result[0]['layers'][0]['w_gate']"}, tensor<64x32xf32> {jax.result_info = "result[0]['layers'][0]['w_up']"}, tensor<64x1x8xf32> {jax.result_info = "result[0]['layers'][0]['wk']"}, tensor<2x8x64xf32> {jax.result_info = "result[0]['layers'][0]['wo']"}, tensor<64x2x8xf32> {jax.result_info = "result[0]['layers'][0]['wq']"}, tensor<64x1x8xf32> {jax.result_info = "result[0]['layers'][0]['wv']"}, tensor<64xf32> {jax.result_info = "result[0]['layers'][1]['attn_norm']"}, tensor<64xf32> {jax.result_info = "result[0]['layers'][1]['mlp_norm']"}, tensor<32x64xf32> {jax.result_info = "result[0]['layers'][1]['w_down']"}, tensor<64x32xf32> {jax.result_info = "result[0]['layers'][1]['w_gate']"}, tensor<64x32xf32> {jax.result_info = "result[0]['layers'][1]['w_up']"}, tensor<64x1x8xf32> {jax.result_info = "result[0]['layers'][1]['wk']"}, tensor<2x8x64xf32> {jax.result_info = "result[0]['layers'][1]['wo']"}, tensor<64x2x8xf32> {jax.result_info = "result[0]['layers'][1]['wq']"}, tensor<64x1x8xf32> {jax.result_info = "result[0]['layers'][1]['wv']"}, tensor<64x64xf32> {jax.result_info = "result[0]['lm_head']"}, tensor<64xf32> {jax.result_info = "result[0]['norm']"}, tensor<i32> {jax.result_info = "result[1][1][0].count"}, tensor<64x64xf32> {jax.result_info = "result[1][1][0].mu['embed']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].mu['layers'][0]['attn_norm']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].mu['layers'][0]['mlp_norm']"}, tensor<32x64xf32> {jax.result_info = "result[1][1][0].mu['layers'][0]['w_down']"}, tensor<64x32xf32> {jax.result_info = "result[1][1][0].mu['layers'][0]['w_gate']"}, tensor<64x32xf32> {jax.result_info = "result[1][1][0].mu['layers'][0]['w_up']"}, tensor<64x1x8xf32> {jax.result_info = "result[1][1][0].mu['layers'][0]['wk']"}, tensor<2x8x64xf32> {jax.result_info = "result[1][1][0].mu['layers'][0]['wo']"}, tensor<64x2x8xf32> {jax.result_info = "result[1][1][0].mu['layers'][0]['wq']"}, tensor<64x1x8xf32> {jax.result_info = "result[1][1][0].mu['layers'][0]['wv']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].mu['layers'][1]['attn_norm']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].mu['layers'][1]['mlp_norm']"}, tensor<32x64xf32> {jax.result_info = "result[1][1][0].mu['layers'][1]['w_down']"}, tensor<64x32xf32> {jax.result_info = "result[1][1][0].mu['layers'][1]['w_gate']"}, tensor<64x32xf32> {jax.result_info = "result[1][1][0].mu['layers'][1]['w_up']"}, tensor<64x1x8xf32> {jax.result_info = "result[1][1][0].mu['layers'][1]['wk']"}, tensor<2x8x64xf32> {jax.result_info = "result[1][1][0].mu['layers'][1]['wo']"}, tensor<64x2x8xf32> {jax.result_info = "result[1][1][0].mu['layers'][1]['wq']"}, tensor<64x1x8xf32> {jax.result_info = "result[1][1][0].mu['layers'][1]['wv']"}, tensor<64x64xf32> {jax.result_info = "result[1][1][0].mu['lm_head']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].mu['norm']"}, tensor<64x64xf32> {jax.result_info = "result[1][1][0].nu['embed']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].nu['layers'][0]['attn_norm']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].nu['layers'][0]['mlp_norm']"}, tensor<32x64xf32> {jax.result_info = "result[1][1][0].nu['layers'][0]['w_down']"}, tensor<64x32xf32> {jax.result_info = "result[1][1][0].nu['layers'][0]['w_gate']"}, tensor<64x32xf32> {jax.result_info = "result[1][1][0].nu['layers'][0]['w_up']"}, tensor<64x1x8xf32> {jax.result_info = "result[1][1][0].nu['layers'][0]['wk']"}, tensor<2x8x64xf32> {jax.result_info = "result[1][1][0].nu['layers'][0]['wo']"}, tensor<64x2x8xf32> {jax.result_info = "result[1][1][0].nu['layers'][0]['wq']"}, tensor<64x1x8xf32> {jax.result_info = "result[1][1][0].nu['layers'][0]['wv']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].nu['layers'][1]['attn_norm']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].nu['layers'][1]['mlp_norm']"}, tensor<32x64xf32> {jax.result_info = "result[1][1][0].nu['layers'][1]['w_down']"}, tensor<64x32xf32> {jax.result_info = "result[1][1][0].nu['layers'][1]['w_gate']"}, tensor<64x32xf32> {jax.result_info = "result[1][1][0].nu['layers'][1]['w_up']"}, tensor<64x1x8xf32> {jax.result_info = "result[1][1][0].nu['layers'][1]['wk']"}, tensor<2x8x64xf32> {jax.result_info = "result[1][1][0].nu['layers'][1]['wo']"}, tensor<64x2x8xf32> {jax.result_info = "result[1][1][0].nu['layers'][1]['wq']"}, tensor<64x1x8xf32> {jax.result_info = "result[1][1][0].nu['layers'][1]['wv']"}, tensor<64x64xf32> {jax.result_info = "result[1][1][0].nu['lm_head']"}, tensor<64xf32> {jax.result_info = "result[1][1][0].nu['norm']"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x8xi32>
    %1 = stablehlo.replica_id : tensor<ui32>
    %2 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
    %c_0 = stablehlo.constant dense<4> : tensor<i32>
    %3 = stablehlo.remainder %2, %c_0 : tensor<i32>
    %c_1 = stablehlo.constant dense<8> : tensor<i32>
    %4 = stablehlo.multiply %3, %c_1 : tensor<i32>
    %5 = stablehlo.dynamic_slice %arg64, %c, %4, sizes = [4, 8] : (tensor<4x32xi32>, tensor<i32>, tensor<i32>) -> tensor<4x8xi32>
    %6 = stablehlo.compare LT, %5, %0, SIGNED : (tensor<4x8xi32>, tensor<4x8xi32>) -> tensor<4x8xi1>
    %c_2 = stablehlo.constant dense<256> : tensor<i32>
    %7 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x8xi32>
    %8 = stablehlo.add %5, %7 : tensor<4x8xi32>
    %9 = stablehlo.select %6, %8, %5 : tensor<4x8xi1>, tensor<4x8xi32>
    %10 = stablehlo.broadcast_in_dim %9, dims = [0, 1] : (tensor<4x8xi32>) -> tensor<4x8x1xi32>
    %11 = "stablehlo.all_gather"(%10) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x8x1xi32>) -> tensor<4x32x1xi32>
    %12 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x32x1xi32>
    %c_3 = stablehlo.constant dense<255> : tensor<i32>
    %13 = stablehlo.broadcast_in_dim %c_3, dims = [] : (tensor<i32>) -> tensor<4x32x1xi32>
    %14 = stablehlo.clamp %12, %11, %13 : tensor<4x32x1xi32>
    %c_4 = stablehlo.constant dense<64> : tensor<i32>
    %15 = stablehlo.multiply %3, %c_4 : tensor<i32>
    %16 = stablehlo.broadcast_in_dim %15, dims = [] : (tensor<i32>) -> tensor<4x32x1xi32>
    %17 = stablehlo.subtract %14, %16 : tensor<4x32x1xi32>
    %18 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<4x32x1xi32>
    %19 = stablehlo.compare GE, %17, %12, SIGNED : (tensor<4x32x1xi32>, tensor<4x32x1xi32>) -> tensor<4x32x1xi1>
    %20 = stablehlo.compare LT, %17, %18, SIGNED : (tensor<4x32x1xi32>, tensor<4x32x1xi32>) -> tensor<4x32x1xi1>
    %21 = stablehlo.and %19, %20 : tensor<4x32x1xi1>
    %22 = stablehlo.reshape %21 : (tensor<4x32x1xi1>) -> tensor<4x32xi1>
    %23 = "stablehlo.gather"(%arg0, %17) <{dimension_numbers = #stablehlo.gather<offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<64x64xf32>, tensor<4x32x1xi32>) -> tensor<4x32x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %24 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x32x64xf32>
    %25 = stablehlo.broadcast_in_dim %22, dims = [0, 1] : (tensor<4x32xi1>) -> tensor<4x32x64xi1>
    %26 = stablehlo.select %25, %23, %24 : tensor<4x32x64xi1>, tensor<4x32x64xf32>
    %27 = "stablehlo.reduce_scatter"(%26) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<4x32x64xf32>) -> tensor<4x8x64xf32>
    %28 = stablehlo.multiply %27, %27 : tensor<4x8x64xf32>
    %29 = stablehlo.reduce(%28 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<4x8xf32>
    %30 = stablehlo.broadcast_in_dim %29, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %cst_5 = stablehlo.constant dense<6.400000e+01> : tensor<f32>
    %31 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %32 = stablehlo.divide %30, %31 : tensor<4x8x1xf32>
    %cst_6 = stablehlo.constant dense<9.99999974E-6> : tensor<f32>
    %33 = stablehlo.broadcast_in_dim %cst_6, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %34 = stablehlo.add %32, %33 : tensor<4x8x1xf32>
    %35 = stablehlo.rsqrt %34 : tensor<4x8x1xf32>
    %36 = stablehlo.divide %35, %34 : tensor<4x8x1xf32>
    %cst_7 = stablehlo.constant dense<-5.000000e-01> : tensor<f32>
    %37 = stablehlo.broadcast_in_dim %cst_7, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %38 = stablehlo.multiply %37, %36 : tensor<4x8x1xf32>
    %39 = stablehlo.broadcast_in_dim %35, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x64xf32>
    %40 = stablehlo.multiply %27, %39 : tensor<4x8x64xf32>
    %41 = stablehlo.broadcast_in_dim %arg1, dims = [2] : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %42 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2] : (tensor<1x1x64xf32>) -> tensor<4x32x64xf32>
    %43 = stablehlo.dynamic_slice %42, %c, %4, %c, sizes = [4, 8, 64] : (tensor<4x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x8x64xf32>
    %44 = stablehlo.multiply %40, %43 : tensor<4x8x64xf32>
    %45 = "stablehlo.all_gather"(%44) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x8x64xf32>) -> tensor<4x32x64xf32>
    %46 = stablehlo.dot_general %45, %arg8, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<64x2x8xf32>) -> tensor<4x32x2x8xf32>
    %47 = stablehlo.dot_general %45, %arg6, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<64x1x8xf32>) -> tensor<4x32x1x8xf32>
    %48 = stablehlo.dot_general %45, %arg9, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<64x1x8xf32>) -> tensor<4x32x1x8xf32>
    %49 = stablehlo.iota dim = 0 : tensor<4xf32>
    %cst_8 = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %50 = stablehlo.broadcast_in_dim %cst_8, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %51 = stablehlo.multiply %50, %49 : tensor<4xf32>
    %52 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %53 = stablehlo.add %52, %51 : tensor<4xf32>
    %cst_9 = stablehlo.constant dense<8.000000e+00> : tensor<f32>
    %54 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %55 = stablehlo.divide %53, %54 : tensor<4xf32>
    %cst_10 = stablehlo.constant dense<1.000000e+04> : tensor<f32>
    %56 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %57 = stablehlo.power %56, %55 : tensor<4xf32>
    %cst_11 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %58 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4xf32>
    %59 = stablehlo.divide %58, %57 : tensor<4xf32>
    %60 = stablehlo.iota dim = 0 : tensor<32xf32>
    %61 = stablehlo.broadcast_in_dim %60, dims = [0] : (tensor<32xf32>) -> tensor<32x1xf32>
    %62 = stablehlo.broadcast_in_dim %59, dims = [1] : (tensor<4xf32>) -> tensor<1x4xf32>
    %63 = stablehlo.broadcast_in_dim %61, dims = [0, 1] : (tensor<32x1xf32>) -> tensor<32x4xf32>
    %64 = stablehlo.broadcast_in_dim %62, dims = [0, 1] : (tensor<1x4xf32>) -> tensor<32x4xf32>
    %65 = stablehlo.multiply %63, %64 : tensor<32x4xf32>
    %66 = stablehlo.cosine %65 : tensor<32x4xf32>
    %67 = stablehlo.broadcast_in_dim %66, dims = [1, 3] : (tensor<32x4xf32>) -> tensor<1x32x1x4xf32>
    %68 = stablehlo.sine %65 : tensor<32x4xf32>
    %69 = stablehlo.broadcast_in_dim %68, dims = [1, 3] : (tensor<32x4xf32>) -> tensor<1x32x1x4xf32>
    %70 = stablehlo.slice %46 [0:4, 0:32, 0:2, 0:4] : (tensor<4x32x2x8xf32>) -> tensor<4x32x2x4xf32>
    %71 = stablehlo.slice %46 [0:4, 0:32, 0:2, 4:8] : (tensor<4x32x2x8xf32>) -> tensor<4x32x2x4xf32>
    %72 = stablehlo.broadcast_in_dim %67, dims = [0, 1, 2, 3] : (tensor<1x32x1x4xf32>) -> tensor<4x32x2x4xf32>
    %73 = stablehlo.multiply %70, %72 : tensor<4x32x2x4xf32>
    %74 = stablehlo.broadcast_in_dim %69, dims = [0, 1, 2, 3] : (tensor<1x32x1x4xf32>) -> tensor<4x32x2x4xf32>
    %75 = stablehlo.multiply %71, %74 : tensor<4x32x2x4xf32>
    %76 = stablehlo.subtract %73, %75 : tensor<4x32x2x4xf32>
    %77 = stablehlo.multiply %71, %72 : tensor<4x32x2x4xf32>
    %78 = stablehlo.multiply %70, %74 : tensor<4x32x2x4xf32>
    %79 = stablehlo.add %77, %78 : tensor<4x32x2x4xf32>
    %80 = stablehlo.concatenate %76, %79, dim = 3 : (tensor<4x32x2x4xf32>, tensor<4x32x2x4xf32>) -> tensor<4x32x2x8xf32>
    %81 = stablehlo.slice %47 [0:4, 0:32, 0:1, 0:4] : (tensor<4x32x1x8xf32>) -> tensor<4x32x1x4xf32>
    %82 = stablehlo.slice %47 [0:4, 0:32, 0:1, 4:8] : (tensor<4x32x1x8xf32>) -> tensor<4x32x1x4xf32>
    %83 = stablehlo.broadcast_in_dim %67, dims = [0, 1, 2, 3] : (tensor<1x32x1x4xf32>) -> tensor<4x32x1x4xf32>
    %84 = stablehlo.multiply %81, %83 : tensor<4x32x1x4xf32>
    %85 = stablehlo.broadcast_in_dim %69, dims = [0, 1, 2, 3] : (tensor<1x32x1x4xf32>) -> tensor<4x32x1x4xf32>
    %86 = stablehlo.multiply %82, %85 : tensor<4x32x1x4xf32>
    %87 = stablehlo.subtract %84, %86 : tensor<4x32x1x4xf32>
    %88 = stablehlo.multiply %82, %83 : tensor<4x32x1x4xf32>
    %89 = stablehlo.multiply %81, %85 : tensor<4x32x1x4xf32>
    %90 = stablehlo.add %88, %89 : tensor<4x32x1x4xf32>
    %91 = stablehlo.concatenate %87, %90, dim = 3 : (tensor<4x32x1x4xf32>, tensor<4x32x1x4xf32>) -> tensor<4x32x1x8xf32>
    %92 = stablehlo.reshape %80 : (tensor<4x32x2x8xf32>) -> tensor<4x32x1x2x8xf32>
    %93 = stablehlo.dot_general %91, %92, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<4x32x1x2x8xf32>) -> tensor<4x1x32x32x2xf32>
    %94 = stablehlo.transpose %93, dims = [0, 1, 4, 3, 2] : (tensor<4x1x32x32x2xf32>) -> tensor<4x1x2x32x32xf32>
    %cst_12 = stablehlo.constant dense<2.82842708> : tensor<f32>
    %95 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<4x1x2x32x32xf32>
    %96 = stablehlo.divide %94, %95 : tensor<4x1x2x32x32xf32>
    %c_13 = stablehlo.constant dense<true> : tensor<i1>
    %97 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %98 = stablehlo.broadcast_in_dim %c_13, dims = [] : (tensor<i1>) -> tensor<8x32xi1>
    %99 = stablehlo.iota dim = 0 : tensor<32x32xi32>
    %100 = stablehlo.iota dim = 0 : tensor<8x32xi32>
    %101 = stablehlo.broadcast_in_dim %4, dims = [] : (tensor<i32>) -> tensor<8x32xi32>
    %102 = stablehlo.add %100, %101 : tensor<8x32xi32>
    %c_14 = stablehlo.constant dense<0> : tensor<8x32xi32>
    %103 = stablehlo.add %102, %c_14 : tensor<8x32xi32>
    %104 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<32x32xi32>
    %105 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<8x32xi32>
    %106 = stablehlo.add %99, %104 : tensor<32x32xi32>
    %107 = stablehlo.add %103, %105 : tensor<8x32xi32>
    %108 = stablehlo.iota dim = 1 : tensor<32x32xi32>
    %109 = stablehlo.iota dim = 1 : tensor<8x32xi32>
    %110 = stablehlo.compare GE, %106, %108, SIGNED : (tensor<32x32xi32>, tensor<32x32xi32>) -> tensor<32x32xi1>
    %111 = stablehlo.compare GE, %107, %109, SIGNED : (tensor<8x32xi32>, tensor<8x32xi32>) -> tensor<8x32xi1>
    %c_15 = stablehlo.constant dense<false> : tensor<i1>
    %112 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i1>) -> tensor<32x32xi1>
    %113 = stablehlo.broadcast_in_dim %c_15, dims = [] : (tensor<i1>) -> tensor<8x32xi1>
    %114 = stablehlo.select %110, %97, %112 : tensor<32x32xi1>, tensor<32x32xi1>
    %115 = stablehlo.select %111, %98, %113 : tensor<8x32xi1>, tensor<8x32xi1>
    %cst_16 = stablehlo.constant dense<-1.000000e+30> : tensor<f32>
    %116 = stablehlo.convert %cst_16 : tensor<f32>
    %117 = stablehlo.broadcast_in_dim %114, dims = [3, 4] : (tensor<32x32xi1>) -> tensor<4x1x2x32x32xi1>
    %118 = stablehlo.broadcast_in_dim %115, dims = [3, 4] : (tensor<8x32xi1>) -> tensor<4x4x2x8x32xi1>
    %119 = stablehlo.broadcast_in_dim %116, dims = [] : (tensor<f32>) -> tensor<4x1x2x32x32xf32>
    %120 = stablehlo.select %117, %96, %119 : tensor<4x1x2x32x32xi1>, tensor<4x1x2x32x32xf32>
    %cst_17 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %121 = stablehlo.reduce(%120 init: %cst_17) applies stablehlo.maximum across dimensions = [4] : (tensor<4x1x2x32x32xf32>, tensor<f32>) -> tensor<4x1x2x32xf32>
    %122 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<4x1x2x32xf32>
    %123 = stablehlo.maximum %122, %121 : tensor<4x1x2x32xf32>
    %124 = stablehlo.broadcast_in_dim %123, dims = [0, 1, 2, 3] : (tensor<4x1x2x32xf32>) -> tensor<4x1x2x32x1xf32>
    %125 = stablehlo.broadcast_in_dim %124, dims = [0, 1, 2, 3, 4] : (tensor<4x1x2x32x1xf32>) -> tensor<4x1x2x32x32xf32>
    %126 = stablehlo.subtract %120, %125 : tensor<4x1x2x32x32xf32>
    %127 = stablehlo.exponential %126 : tensor<4x1x2x32x32xf32>
    %128 = stablehlo.reduce(%127 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<4x1x2x32x32xf32>, tensor<f32>) -> tensor<4x1x2x32xf32>
    %129 = stablehlo.broadcast_in_dim %128, dims = [0, 1, 2, 3] : (tensor<4x1x2x32xf32>) -> tensor<4x1x2x32x1xf32>
    %130 = stablehlo.broadcast_in_dim %129, dims = [0, 1, 2, 3, 4] : (tensor<4x1x2x32x1xf32>) -> tensor<4x1x2x32x32xf32>
    %131 = stablehlo.divide %127, %130 : tensor<4x1x2x32x32xf32>
    %132 = stablehlo.multiply %129, %129 : tensor<4x1x2x32x1xf32>
    %133 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x1x2x32x1xf32>
    %134 = stablehlo.divide %133, %132 : tensor<4x1x2x32x1xf32>
    %135 = stablehlo.dot_general %48, %131, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<4x1x2x32x32xf32>) -> tensor<4x1x8x2x32xf32>
    %136 = stablehlo.transpose %135, dims = [0, 4, 1, 3, 2] : (tensor<4x1x8x2x32xf32>) -> tensor<4x32x1x2x8xf32>
    %137 = stablehlo.reshape %136 : (tensor<4x32x1x2x8xf32>) -> tensor<4x32x2x8xf32>
    %138 = stablehlo.dot_general %137, %arg7, contracting_dims = [3, 2] x [1, 0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x2x8xf32>, tensor<2x8x64xf32>) -> tensor<4x32x64xf32>
    %139 = "stablehlo.reduce_scatter"(%138) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<4x32x64xf32>) -> tensor<4x8x64xf32>
    %140 = stablehlo.add %27, %139 : tensor<4x8x64xf32>
    %141 = stablehlo.multiply %140, %140 : tensor<4x8x64xf32>
    %142 = stablehlo.reduce(%141 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<4x8xf32>
    %143 = stablehlo.broadcast_in_dim %142, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %144 = stablehlo.divide %143, %31 : tensor<4x8x1xf32>
    %145 = stablehlo.add %144, %33 : tensor<4x8x1xf32>
    %146 = stablehlo.rsqrt %145 : tensor<4x8x1xf32>
    %147 = stablehlo.divide %146, %145 : tensor<4x8x1xf32>
    %148 = stablehlo.multiply %37, %147 : tensor<4x8x1xf32>
    %149 = stablehlo.broadcast_in_dim %146, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x64xf32>
    %150 = stablehlo.multiply %140, %149 : tensor<4x8x64xf32>
    %151 = stablehlo.broadcast_in_dim %arg2, dims = [2] : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %152 = stablehlo.broadcast_in_dim %151, dims = [0, 1, 2] : (tensor<1x1x64xf32>) -> tensor<4x32x64xf32>
    %153 = stablehlo.dynamic_slice %152, %c, %4, %c, sizes = [4, 8, 64] : (tensor<4x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x8x64xf32>
    %154 = stablehlo.multiply %150, %153 : tensor<4x8x64xf32>
    %155 = "stablehlo.all_gather"(%154) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x8x64xf32>) -> tensor<4x32x64xf32>
    %156 = stablehlo.dot_general %155, %arg4, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<64x32xf32>) -> tensor<4x32x32xf32>
    %157 = stablehlo.negate %156 : tensor<4x32x32xf32>
    %158 = stablehlo.exponential %157 : tensor<4x32x32xf32>
    %159 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<4x32x32xf32>
    %160 = stablehlo.add %159, %158 : tensor<4x32x32xf32>
    %161 = stablehlo.divide %159, %160 : tensor<4x32x32xf32>
    %162 = stablehlo.subtract %159, %161 : tensor<4x32x32xf32>
    %163 = stablehlo.multiply %161, %162 : tensor<4x32x32xf32>
    %164 = stablehlo.multiply %156, %161 : tensor<4x32x32xf32>
    %165 = stablehlo.dot_general %155, %arg5, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<64x32xf32>) -> tensor<4x32x32xf32>
    %166 = stablehlo.multiply %164, %165 : tensor<4x32x32xf32>
    %167 = stablehlo.dot_general %166, %arg3, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x32xf32>, tensor<32x64xf32>) -> tensor<4x32x64xf32>
    %168 = "stablehlo.reduce_scatter"(%167) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<4x32x64xf32>) -> tensor<4x8x64xf32>
    %169 = stablehlo.add %140, %168 : tensor<4x8x64xf32>
    %170 = stablehlo.multiply %169, %169 : tensor<4x8x64xf32>
    %171 = stablehlo.reduce(%170 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<4x8xf32>
    %172 = stablehlo.broadcast_in_dim %171, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %173 = stablehlo.divide %172, %31 : tensor<4x8x1xf32>
    %174 = stablehlo.add %173, %33 : tensor<4x8x1xf32>
    %175 = stablehlo.rsqrt %174 : tensor<4x8x1xf32>
    %176 = stablehlo.divide %175, %174 : tensor<4x8x1xf32>
    %177 = stablehlo.multiply %37, %176 : tensor<4x8x1xf32>
    %178 = stablehlo.broadcast_in_dim %175, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x64xf32>
    %179 = stablehlo.multiply %169, %178 : tensor<4x8x64xf32>
    %180 = stablehlo.broadcast_in_dim %arg10, dims = [2] : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %181 = stablehlo.broadcast_in_dim %180, dims = [0, 1, 2] : (tensor<1x1x64xf32>) -> tensor<4x32x64xf32>
    %182 = stablehlo.dynamic_slice %181, %c, %4, %c, sizes = [4, 8, 64] : (tensor<4x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x8x64xf32>
    %183 = stablehlo.multiply %179, %182 : tensor<4x8x64xf32>
    %184 = "stablehlo.all_gather"(%183) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x8x64xf32>) -> tensor<4x32x64xf32>
    %185 = stablehlo.dot_general %184, %arg17, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<64x2x8xf32>) -> tensor<4x32x2x8xf32>
    %186 = stablehlo.dot_general %184, %arg15, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<64x1x8xf32>) -> tensor<4x32x1x8xf32>
    %187 = stablehlo.dot_general %184, %arg18, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<64x1x8xf32>) -> tensor<4x32x1x8xf32>
    %188 = stablehlo.slice %185 [0:4, 0:32, 0:2, 0:4] : (tensor<4x32x2x8xf32>) -> tensor<4x32x2x4xf32>
    %189 = stablehlo.slice %185 [0:4, 0:32, 0:2, 4:8] : (tensor<4x32x2x8xf32>) -> tensor<4x32x2x4xf32>
    %190 = stablehlo.multiply %188, %72 : tensor<4x32x2x4xf32>
    %191 = stablehlo.multiply %189, %74 : tensor<4x32x2x4xf32>
    %192 = stablehlo.subtract %190, %191 : tensor<4x32x2x4xf32>
    %193 = stablehlo.multiply %189, %72 : tensor<4x32x2x4xf32>
    %194 = stablehlo.multiply %188, %74 : tensor<4x32x2x4xf32>
    %195 = stablehlo.add %193, %194 : tensor<4x32x2x4xf32>
    %196 = stablehlo.concatenate %192, %195, dim = 3 : (tensor<4x32x2x4xf32>, tensor<4x32x2x4xf32>) -> tensor<4x32x2x8xf32>
    %197 = stablehlo.slice %186 [0:4, 0:32, 0:1, 0:4] : (tensor<4x32x1x8xf32>) -> tensor<4x32x1x4xf32>
    %198 = stablehlo.slice %186 [0:4, 0:32, 0:1, 4:8] : (tensor<4x32x1x8xf32>) -> tensor<4x32x1x4xf32>
    %199 = stablehlo.multiply %197, %83 : tensor<4x32x1x4xf32>
    %200 = stablehlo.multiply %198, %85 : tensor<4x32x1x4xf32>
    %201 = stablehlo.subtract %199, %200 : tensor<4x32x1x4xf32>
    %202 = stablehlo.multiply %198, %83 : tensor<4x32x1x4xf32>
    %203 = stablehlo.multiply %197, %85 : tensor<4x32x1x4xf32>
    %204 = stablehlo.add %202, %203 : tensor<4x32x1x4xf32>
    %205 = stablehlo.concatenate %201, %204, dim = 3 : (tensor<4x32x1x4xf32>, tensor<4x32x1x4xf32>) -> tensor<4x32x1x8xf32>
    %206 = stablehlo.reshape %196 : (tensor<4x32x2x8xf32>) -> tensor<4x32x1x2x8xf32>
    %207 = stablehlo.dot_general %205, %206, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [4], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<4x32x1x2x8xf32>) -> tensor<4x1x32x32x2xf32>
    %208 = stablehlo.transpose %207, dims = [0, 1, 4, 3, 2] : (tensor<4x1x32x32x2xf32>) -> tensor<4x1x2x32x32xf32>
    %209 = stablehlo.divide %208, %95 : tensor<4x1x2x32x32xf32>
    %210 = stablehlo.select %117, %209, %119 : tensor<4x1x2x32x32xi1>, tensor<4x1x2x32x32xf32>
    %211 = stablehlo.reduce(%210 init: %cst_17) applies stablehlo.maximum across dimensions = [4] : (tensor<4x1x2x32x32xf32>, tensor<f32>) -> tensor<4x1x2x32xf32>
    %212 = stablehlo.maximum %122, %211 : tensor<4x1x2x32xf32>
    %213 = stablehlo.broadcast_in_dim %212, dims = [0, 1, 2, 3] : (tensor<4x1x2x32xf32>) -> tensor<4x1x2x32x1xf32>
    %214 = stablehlo.broadcast_in_dim %213, dims = [0, 1, 2, 3, 4] : (tensor<4x1x2x32x1xf32>) -> tensor<4x1x2x32x32xf32>
    %215 = stablehlo.subtract %210, %214 : tensor<4x1x2x32x32xf32>
    %216 = stablehlo.exponential %215 : tensor<4x1x2x32x32xf32>
    %217 = stablehlo.reduce(%216 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<4x1x2x32x32xf32>, tensor<f32>) -> tensor<4x1x2x32xf32>
    %218 = stablehlo.broadcast_in_dim %217, dims = [0, 1, 2, 3] : (tensor<4x1x2x32xf32>) -> tensor<4x1x2x32x1xf32>
    %219 = stablehlo.broadcast_in_dim %218, dims = [0, 1, 2, 3, 4] : (tensor<4x1x2x32x1xf32>) -> tensor<4x1x2x32x32xf32>
    %220 = stablehlo.divide %216, %219 : tensor<4x1x2x32x32xf32>
    %221 = stablehlo.multiply %218, %218 : tensor<4x1x2x32x1xf32>
    %222 = stablehlo.divide %133, %221 : tensor<4x1x2x32x1xf32>
    %223 = stablehlo.dot_general %187, %220, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [4], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<4x1x2x32x32xf32>) -> tensor<4x1x8x2x32xf32>
    %224 = stablehlo.transpose %223, dims = [0, 4, 1, 3, 2] : (tensor<4x1x8x2x32xf32>) -> tensor<4x32x1x2x8xf32>
    %225 = stablehlo.reshape %224 : (tensor<4x32x1x2x8xf32>) -> tensor<4x32x2x8xf32>
    %226 = stablehlo.dot_general %225, %arg16, contracting_dims = [3, 2] x [1, 0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x2x8xf32>, tensor<2x8x64xf32>) -> tensor<4x32x64xf32>
    %227 = "stablehlo.reduce_scatter"(%226) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<4x32x64xf32>) -> tensor<4x8x64xf32>
    %228 = stablehlo.add %169, %227 : tensor<4x8x64xf32>
    %229 = stablehlo.multiply %228, %228 : tensor<4x8x64xf32>
    %230 = stablehlo.reduce(%229 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<4x8xf32>
    %231 = stablehlo.broadcast_in_dim %230, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %232 = stablehlo.divide %231, %31 : tensor<4x8x1xf32>
    %233 = stablehlo.add %232, %33 : tensor<4x8x1xf32>
    %234 = stablehlo.rsqrt %233 : tensor<4x8x1xf32>
    %235 = stablehlo.divide %234, %233 : tensor<4x8x1xf32>
    %236 = stablehlo.multiply %37, %235 : tensor<4x8x1xf32>
    %237 = stablehlo.broadcast_in_dim %234, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x64xf32>
    %238 = stablehlo.multiply %228, %237 : tensor<4x8x64xf32>
    %239 = stablehlo.broadcast_in_dim %arg11, dims = [2] : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %240 = stablehlo.broadcast_in_dim %239, dims = [0, 1, 2] : (tensor<1x1x64xf32>) -> tensor<4x32x64xf32>
    %241 = stablehlo.dynamic_slice %240, %c, %4, %c, sizes = [4, 8, 64] : (tensor<4x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x8x64xf32>
    %242 = stablehlo.multiply %238, %241 : tensor<4x8x64xf32>
    %243 = "stablehlo.all_gather"(%242) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x8x64xf32>) -> tensor<4x32x64xf32>
    %244 = stablehlo.dot_general %243, %arg13, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<64x32xf32>) -> tensor<4x32x32xf32>
    %245 = stablehlo.negate %244 : tensor<4x32x32xf32>
    %246 = stablehlo.exponential %245 : tensor<4x32x32xf32>
    %247 = stablehlo.add %159, %246 : tensor<4x32x32xf32>
    %248 = stablehlo.divide %159, %247 : tensor<4x32x32xf32>
    %249 = stablehlo.subtract %159, %248 : tensor<4x32x32xf32>
    %250 = stablehlo.multiply %248, %249 : tensor<4x32x32xf32>
    %251 = stablehlo.multiply %244, %248 : tensor<4x32x32xf32>
    %252 = stablehlo.dot_general %243, %arg14, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<64x32xf32>) -> tensor<4x32x32xf32>
    %253 = stablehlo.multiply %251, %252 : tensor<4x32x32xf32>
    %254 = stablehlo.dot_general %253, %arg12, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x32x32xf32>, tensor<32x64xf32>) -> tensor<4x32x64xf32>
    %255 = "stablehlo.reduce_scatter"(%254) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<4x32x64xf32>) -> tensor<4x8x64xf32>
    %256 = stablehlo.add %228, %255 : tensor<4x8x64xf32>
    %257 = stablehlo.multiply %256, %256 : tensor<4x8x64xf32>
    %258 = stablehlo.reduce(%257 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<4x8xf32>
    %259 = stablehlo.broadcast_in_dim %258, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %260 = stablehlo.divide %259, %31 : tensor<4x8x1xf32>
    %261 = stablehlo.add %260, %33 : tensor<4x8x1xf32>
    %262 = stablehlo.rsqrt %261 : tensor<4x8x1xf32>
    %263 = stablehlo.divide %262, %261 : tensor<4x8x1xf32>
    %264 = stablehlo.multiply %37, %263 : tensor<4x8x1xf32>
    %265 = stablehlo.broadcast_in_dim %262, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x64xf32>
    %266 = stablehlo.multiply %256, %265 : tensor<4x8x64xf32>
    %267 = stablehlo.broadcast_in_dim %arg20, dims = [2] : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %268 = stablehlo.broadcast_in_dim %267, dims = [0, 1, 2] : (tensor<1x1x64xf32>) -> tensor<4x8x64xf32>
    %269 = stablehlo.multiply %266, %268 : tensor<4x8x64xf32>
    %270 = "stablehlo.all_gather"(%arg19) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<64x64xf32>) -> tensor<64x256xf32>
    %271 = stablehlo.dot_general %269, %270, contracting_dims = [2] x [0], precision = [DEFAULT, DEFAULT] : (tensor<4x8x64xf32>, tensor<64x256xf32>) -> tensor<4x8x256xf32>
    %272 = stablehlo.reduce(%271 init: %cst_17) applies stablehlo.maximum across dimensions = [2] : (tensor<4x8x256xf32>, tensor<f32>) -> tensor<4x8xf32>
    %273 = stablehlo.broadcast_in_dim %cst_17, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %274 = stablehlo.maximum %273, %272 : tensor<4x8xf32>
    %275 = stablehlo.is_finite %274 : (tensor<4x8xf32>) -> tensor<4x8xi1>
    %276 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %277 = stablehlo.select %275, %274, %276 : tensor<4x8xi1>, tensor<4x8xf32>
    %278 = stablehlo.broadcast_in_dim %277, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %279 = stablehlo.broadcast_in_dim %278, dims = [0, 1, 2] : (tensor<4x8x1xf32>) -> tensor<4x8x256xf32>
    %280 = stablehlo.subtract %271, %279 : tensor<4x8x256xf32>
    %281 = stablehlo.exponential %280 : tensor<4x8x256xf32>
    %282 = stablehlo.reduce(%281 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x256xf32>, tensor<f32>) -> tensor<4x8xf32>
    %283 = stablehlo.abs %282 : tensor<4x8xf32>
    %284 = stablehlo.compare GE, %282, %276, FLOAT : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xi1>
    %285 = stablehlo.log %283 : tensor<4x8xf32>
    %286 = stablehlo.add %285, %277 : tensor<4x8xf32>
    %287 = stablehlo.dynamic_slice %arg65, %c, %4, sizes = [4, 8] : (tensor<4x32xi32>, tensor<i32>, tensor<i32>) -> tensor<4x8xi32>
    %288 = stablehlo.broadcast_in_dim %287, dims = [0, 1] : (tensor<4x8xi32>) -> tensor<4x8x1xi32>
    %289 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x8x1xi32>
    %290 = stablehlo.compare LT, %288, %289, SIGNED : (tensor<4x8x1xi32>, tensor<4x8x1xi32>) -> tensor<4x8x1xi1>
    %291 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<4x8x1xi32>
    %292 = stablehlo.add %288, %291 : tensor<4x8x1xi32>
    %293 = stablehlo.select %290, %292, %288 : tensor<4x8x1xi1>, tensor<4x8x1xi32>
    %294 = stablehlo.reshape %293 : (tensor<4x8x1xi32>) -> tensor<4x8x1x1xi32>
    %c_18 = stablehlo.constant dense<255> : tensor<1xi32>
    %295 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<4x8x1x1xi32>
    %296 = stablehlo.compare GE, %294, %295, SIGNED : (tensor<4x8x1x1xi32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1x1xi1>
    %297 = stablehlo.broadcast_in_dim %c_18, dims = [3] : (tensor<1xi32>) -> tensor<1x1x1x1xi32>
    %298 = stablehlo.broadcast_in_dim %297, dims = [0, 1, 2, 3] : (tensor<1x1x1x1xi32>) -> tensor<4x8x1x1xi32>
    %299 = stablehlo.compare LE, %294, %298, SIGNED : (tensor<4x8x1x1xi32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1x1xi1>
    %300 = stablehlo.and %296, %299 : tensor<4x8x1x1xi1>
    %301 = stablehlo.reduce(%300 init: %c_13) applies stablehlo.and across dimensions = [3] : (tensor<4x8x1x1xi1>, tensor<i1>) -> tensor<4x8x1xi1>
    %302 = "stablehlo.gather"(%271, %294) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [2], operand_batching_dims = [0, 1], start_indices_batching_dims = [0, 1], start_index_map = [2], index_vector_dim = 3>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1, 1>}> : (tensor<4x8x256xf32>, tensor<4x8x1x1xi32>) -> tensor<4x8x1xf32>
    %cst_19 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %303 = stablehlo.broadcast_in_dim %cst_19, dims = [] : (tensor<f32>) -> tensor<4x8x1xf32>
    %304 = stablehlo.select %301, %302, %303 : tensor<4x8x1xi1>, tensor<4x8x1xf32>
    %305 = stablehlo.reshape %304 : (tensor<4x8x1xf32>) -> tensor<4x8xf32>
    %306 = stablehlo.subtract %286, %305 : tensor<4x8xf32>
    %307 = stablehlo.reduce(%306 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8xf32>, tensor<f32>) -> tensor<f32>
    %cst_20 = stablehlo.constant dense<2.560000e+02> : tensor<f32>
    %308 = stablehlo.divide %cst_11, %cst_20 : tensor<f32>
    %309 = stablehlo.broadcast_in_dim %308, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %310 = stablehlo.negate %309 : tensor<4x8xf32>
    %311 = stablehlo.broadcast_in_dim %310, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %312 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x8x256xf32>
    %313 = "stablehlo.scatter"(%312, %294, %311) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [2], input_batching_dims = [0, 1], scatter_indices_batching_dims = [0, 1], scatter_dims_to_operand_dims = [2], index_vector_dim = 3>, unique_indices = false}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<4x8x256xf32>, tensor<4x8x1x1xi32>, tensor<4x8x1xf32>) -> tensor<4x8x256xf32>
    %314 = stablehlo.divide %309, %283 : tensor<4x8xf32>
    %315 = stablehlo.select %284, %314, %276 : tensor<4x8xi1>, tensor<4x8xf32>
    %316 = stablehlo.select %284, %276, %314 : tensor<4x8xi1>, tensor<4x8xf32>
    %317 = stablehlo.negate %316 : tensor<4x8xf32>
    %318 = stablehlo.add %315, %317 : tensor<4x8xf32>
    %319 = stablehlo.broadcast_in_dim %318, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x256xf32>
    %320 = stablehlo.multiply %319, %281 : tensor<4x8x256xf32>
    %321 = stablehlo.add %313, %320 : tensor<4x8x256xf32>
    %322 = stablehlo.dot_general %321, %270, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x256xf32>, tensor<64x256xf32>) -> tensor<4x8x64xf32>
    %323 = stablehlo.multiply %266, %322 : tensor<4x8x64xf32>
    %324 = stablehlo.reduce(%323 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<64xf32>
    %325 = stablehlo.multiply %322, %268 : tensor<4x8x64xf32>
    %326 = stablehlo.multiply %325, %265 : tensor<4x8x64xf32>
    %327 = stablehlo.multiply %256, %325 : tensor<4x8x64xf32>
    %328 = stablehlo.reduce(%327 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<4x8xf32>
    %329 = stablehlo.reshape %328 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %330 = stablehlo.multiply %329, %264 : tensor<4x8x1xf32>
    %331 = stablehlo.divide %330, %31 : tensor<4x8x1xf32>
    %332 = stablehlo.reduce(%331 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %333 = stablehlo.broadcast_in_dim %332, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x64xf32>
    %334 = stablehlo.multiply %256, %333 : tensor<4x8x64xf32>
    %335 = stablehlo.add %326, %334 : tensor<4x8x64xf32>
    %336 = stablehlo.multiply %333, %256 : tensor<4x8x64xf32>
    %337 = stablehlo.add %335, %336 : tensor<4x8x64xf32>
    %338 = "stablehlo.all_gather"(%337) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x8x64xf32>) -> tensor<4x32x64xf32>
    %339 = stablehlo.dot_general %338, %arg12, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<32x64xf32>) -> tensor<4x32x32xf32>
    %340 = stablehlo.multiply %251, %339 : tensor<4x32x32xf32>
    %341 = stablehlo.dot_general %340, %arg14, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x32xf32>, tensor<64x32xf32>) -> tensor<4x32x64xf32>
    %342 = stablehlo.multiply %339, %252 : tensor<4x32x32xf32>
    %343 = stablehlo.multiply %342, %248 : tensor<4x32x32xf32>
    %344 = stablehlo.multiply %244, %342 : tensor<4x32x32xf32>
    %345 = stablehlo.multiply %344, %250 : tensor<4x32x32xf32>
    %346 = stablehlo.add %343, %345 : tensor<4x32x32xf32>
    %347 = stablehlo.dot_general %346, %arg13, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x32xf32>, tensor<64x32xf32>) -> tensor<4x32x64xf32>
    %348 = stablehlo.add %341, %347 : tensor<4x32x64xf32>
    %349 = "stablehlo.all_reduce"(%348) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<4x32x64xf32>) -> tensor<4x32x64xf32>
    %350 = stablehlo.dynamic_slice %349, %c, %4, %c, sizes = [4, 8, 64] : (tensor<4x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x8x64xf32>
    %351 = stablehlo.multiply %238, %350 : tensor<4x8x64xf32>
    %352 = stablehlo.reduce(%351 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<64xf32>
    %353 = stablehlo.broadcast_in_dim %239, dims = [0, 1, 2] : (tensor<1x1x64xf32>) -> tensor<4x8x64xf32>
    %354 = stablehlo.multiply %350, %353 : tensor<4x8x64xf32>
    %355 = stablehlo.multiply %354, %237 : tensor<4x8x64xf32>
    %356 = stablehlo.add %337, %355 : tensor<4x8x64xf32>
    %357 = stablehlo.multiply %228, %354 : tensor<4x8x64xf32>
    %358 = stablehlo.reduce(%357 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<4x8xf32>
    %359 = stablehlo.reshape %358 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %360 = stablehlo.multiply %359, %236 : tensor<4x8x1xf32>
    %361 = stablehlo.divide %360, %31 : tensor<4x8x1xf32>
    %362 = stablehlo.reduce(%361 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %363 = stablehlo.broadcast_in_dim %362, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x64xf32>
    %364 = stablehlo.multiply %228, %363 : tensor<4x8x64xf32>
    %365 = stablehlo.add %356, %364 : tensor<4x8x64xf32>
    %366 = stablehlo.multiply %363, %228 : tensor<4x8x64xf32>
    %367 = stablehlo.add %365, %366 : tensor<4x8x64xf32>
    %368 = "stablehlo.all_gather"(%367) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x8x64xf32>) -> tensor<4x32x64xf32>
    %369 = stablehlo.dot_general %368, %arg16, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<2x8x64xf32>) -> tensor<4x32x2x8xf32>
    %370 = "stablehlo.all_to_all"(%369) <{concat_dimension = 2 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x32x2x8xf32>) -> tensor<4x8x8x8xf32>
    %371 = stablehlo.reshape %370 : (tensor<4x8x8x8xf32>) -> tensor<4x8x4x2x8xf32>
    %372 = stablehlo.transpose %371, dims = [0, 2, 4, 3, 1] : (tensor<4x8x4x2x8xf32>) -> tensor<4x4x8x2x8xf32>
    %373 = "stablehlo.all_to_all"(%372) <{concat_dimension = 4 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x4x8x2x8xf32>) -> tensor<4x1x8x2x32xf32>
    %374 = stablehlo.dot_general %373, %220, batching_dims = [0, 1] x [0, 1], contracting_dims = [3, 4] x [2, 3], precision = [DEFAULT, DEFAULT] : (tensor<4x1x8x2x32xf32>, tensor<4x1x2x32x32xf32>) -> tensor<4x1x8x32xf32>
    %375 = stablehlo.transpose %374, dims = [0, 3, 1, 2] : (tensor<4x1x8x32xf32>) -> tensor<4x32x1x8xf32>
    %376 = stablehlo.dot_general %375, %arg18, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<64x1x8xf32>) -> tensor<4x32x64xf32>
    %377 = "stablehlo.all_to_all"(%216) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 3 : i64}> : (tensor<4x1x2x32x32xf32>) -> tensor<4x4x2x8x32xf32>
    %378 = "stablehlo.all_gather"(%187) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x32x1x8xf32>) -> tensor<4x32x4x8xf32>
    %379 = stablehlo.dot_general %372, %378, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x2x8xf32>, tensor<4x32x4x8xf32>) -> tensor<4x4x2x8x32xf32>
    %380 = "stablehlo.all_to_all"(%218) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 3 : i64}> : (tensor<4x1x2x32x1xf32>) -> tensor<4x4x2x8x1xf32>
    %381 = stablehlo.broadcast_in_dim %380, dims = [0, 1, 2, 3, 4] : (tensor<4x4x2x8x1xf32>) -> tensor<4x4x2x8x32xf32>
    %382 = stablehlo.divide %379, %381 : tensor<4x4x2x8x32xf32>
    %383 = "stablehlo.all_to_all"(%222) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 3 : i64}> : (tensor<4x1x2x32x1xf32>) -> tensor<4x4x2x8x1xf32>
    %384 = stablehlo.broadcast_in_dim %383, dims = [0, 1, 2, 3, 4] : (tensor<4x4x2x8x1xf32>) -> tensor<4x4x2x8x32xf32>
    %385 = stablehlo.multiply %379, %384 : tensor<4x4x2x8x32xf32>
    %386 = stablehlo.multiply %385, %377 : tensor<4x4x2x8x32xf32>
    %387 = stablehlo.reduce(%386 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<4x4x2x8x32xf32>, tensor<f32>) -> tensor<4x4x2x8xf32>
    %388 = stablehlo.reshape %387 : (tensor<4x4x2x8xf32>) -> tensor<4x4x2x8x1xf32>
    %389 = stablehlo.negate %388 : tensor<4x4x2x8x1xf32>
    %390 = stablehlo.reduce(%389 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<4x4x2x8x1xf32>, tensor<f32>) -> tensor<4x4x2x8xf32>
    %391 = stablehlo.broadcast_in_dim %390, dims = [0, 1, 2, 3] : (tensor<4x4x2x8xf32>) -> tensor<4x4x2x8x32xf32>
    %392 = stablehlo.add %382, %391 : tensor<4x4x2x8x32xf32>
    %393 = stablehlo.multiply %392, %377 : tensor<4x4x2x8x32xf32>
    %394 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<4x4x2x8x32xf32>
    %395 = stablehlo.select %118, %393, %394 : tensor<4x4x2x8x32xi1>, tensor<4x4x2x8x32xf32>
    %396 = stablehlo.broadcast_in_dim %cst_12, dims = [] : (tensor<f32>) -> tensor<4x4x2x8x32xf32>
    %397 = stablehlo.divide %395, %396 : tensor<4x4x2x8x32xf32>
    %398 = stablehlo.transpose %397, dims = [0, 1, 4, 3, 2] : (tensor<4x4x2x8x32xf32>) -> tensor<4x4x32x8x2xf32>
    %399 = "stablehlo.all_to_all"(%398) <{concat_dimension = 3 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x4x32x8x2xf32>) -> tensor<4x1x32x32x2xf32>
    %400 = stablehlo.dot_general %399, %206, batching_dims = [0, 1] x [0, 2], contracting_dims = [3, 4] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<4x1x32x32x2xf32>, tensor<4x32x1x2x8xf32>) -> tensor<4x1x32x8xf32>
    %401 = stablehlo.transpose %400, dims = [0, 2, 1, 3] : (tensor<4x1x32x8xf32>) -> tensor<4x32x1x8xf32>
    %402 = stablehlo.slice %401 [0:4, 0:32, 0:1, 4:8] : (tensor<4x32x1x8xf32>) -> tensor<4x32x1x4xf32>
    %403 = stablehlo.multiply %402, %83 : tensor<4x32x1x4xf32>
    %404 = stablehlo.slice %401 [0:4, 0:32, 0:1, 0:4] : (tensor<4x32x1x8xf32>) -> tensor<4x32x1x4xf32>
    %405 = stablehlo.negate %404 : tensor<4x32x1x4xf32>
    %406 = stablehlo.multiply %405, %85 : tensor<4x32x1x4xf32>
    %407 = stablehlo.add %403, %406 : tensor<4x32x1x4xf32>
    %408 = stablehlo.multiply %402, %85 : tensor<4x32x1x4xf32>
    %409 = stablehlo.multiply %404, %83 : tensor<4x32x1x4xf32>
    %410 = stablehlo.add %408, %409 : tensor<4x32x1x4xf32>
    %411 = stablehlo.concatenate %410, %407, dim = 3 : (tensor<4x32x1x4xf32>, tensor<4x32x1x4xf32>) -> tensor<4x32x1x8xf32>
    %412 = stablehlo.dot_general %411, %arg15, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<64x1x8xf32>) -> tensor<4x32x64xf32>
    %413 = stablehlo.add %376, %412 : tensor<4x32x64xf32>
    %414 = stablehlo.dot_general %399, %205, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x1x32x32x2xf32>, tensor<4x32x1x8xf32>) -> tensor<4x1x32x2x8xf32>
    %415 = stablehlo.transpose %414, dims = [0, 2, 1, 3, 4] : (tensor<4x1x32x2x8xf32>) -> tensor<4x32x1x2x8xf32>
    %416 = stablehlo.reshape %415 : (tensor<4x32x1x2x8xf32>) -> tensor<4x32x2x8xf32>
    %417 = stablehlo.slice %416 [0:4, 0:32, 0:2, 4:8] : (tensor<4x32x2x8xf32>) -> tensor<4x32x2x4xf32>
    %418 = stablehlo.multiply %417, %72 : tensor<4x32x2x4xf32>
    %419 = stablehlo.slice %416 [0:4, 0:32, 0:2, 0:4] : (tensor<4x32x2x8xf32>) -> tensor<4x32x2x4xf32>
    %420 = stablehlo.negate %419 : tensor<4x32x2x4xf32>
    %421 = stablehlo.multiply %420, %74 : tensor<4x32x2x4xf32>
    %422 = stablehlo.add %418, %421 : tensor<4x32x2x4xf32>
    %423 = stablehlo.multiply %417, %74 : tensor<4x32x2x4xf32>
    %424 = stablehlo.multiply %419, %72 : tensor<4x32x2x4xf32>
    %425 = stablehlo.add %423, %424 : tensor<4x32x2x4xf32>
    %426 = stablehlo.concatenate %425, %422, dim = 3 : (tensor<4x32x2x4xf32>, tensor<4x32x2x4xf32>) -> tensor<4x32x2x8xf32>
    %427 = stablehlo.dot_general %426, %arg17, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x32x2x8xf32>, tensor<64x2x8xf32>) -> tensor<4x32x64xf32>
    %428 = stablehlo.add %413, %427 : tensor<4x32x64xf32>
    %429 = "stablehlo.all_reduce"(%428) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<4x32x64xf32>) -> tensor<4x32x64xf32>
    %430 = stablehlo.dynamic_slice %429, %c, %4, %c, sizes = [4, 8, 64] : (tensor<4x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x8x64xf32>
    %431 = stablehlo.multiply %179, %430 : tensor<4x8x64xf32>
    %432 = stablehlo.reduce(%431 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<64xf32>
    %433 = stablehlo.broadcast_in_dim %180, dims = [0, 1, 2] : (tensor<1x1x64xf32>) -> tensor<4x8x64xf32>
    %434 = stablehlo.multiply %430, %433 : tensor<4x8x64xf32>
    %435 = stablehlo.multiply %434, %178 : tensor<4x8x64xf32>
    %436 = stablehlo.add %367, %435 : tensor<4x8x64xf32>
    %437 = stablehlo.multiply %169, %434 : tensor<4x8x64xf32>
    %438 = stablehlo.reduce(%437 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<4x8xf32>
    %439 = stablehlo.reshape %438 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %440 = stablehlo.multiply %439, %177 : tensor<4x8x1xf32>
    %441 = stablehlo.divide %440, %31 : tensor<4x8x1xf32>
    %442 = stablehlo.reduce(%441 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %443 = stablehlo.broadcast_in_dim %442, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x64xf32>
    %444 = stablehlo.multiply %169, %443 : tensor<4x8x64xf32>
    %445 = stablehlo.add %436, %444 : tensor<4x8x64xf32>
    %446 = stablehlo.multiply %443, %169 : tensor<4x8x64xf32>
    %447 = stablehlo.add %445, %446 : tensor<4x8x64xf32>
    %448 = "stablehlo.all_gather"(%447) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x8x64xf32>) -> tensor<4x32x64xf32>
    %449 = stablehlo.dot_general %448, %arg3, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<32x64xf32>) -> tensor<4x32x32xf32>
    %450 = stablehlo.multiply %164, %449 : tensor<4x32x32xf32>
    %451 = stablehlo.dot_general %450, %arg5, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x32xf32>, tensor<64x32xf32>) -> tensor<4x32x64xf32>
    %452 = stablehlo.multiply %449, %165 : tensor<4x32x32xf32>
    %453 = stablehlo.multiply %452, %161 : tensor<4x32x32xf32>
    %454 = stablehlo.multiply %156, %452 : tensor<4x32x32xf32>
    %455 = stablehlo.multiply %454, %163 : tensor<4x32x32xf32>
    %456 = stablehlo.add %453, %455 : tensor<4x32x32xf32>
    %457 = stablehlo.dot_general %456, %arg4, contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x32xf32>, tensor<64x32xf32>) -> tensor<4x32x64xf32>
    %458 = stablehlo.add %451, %457 : tensor<4x32x64xf32>
    %459 = "stablehlo.all_reduce"(%458) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<4x32x64xf32>) -> tensor<4x32x64xf32>
    %460 = stablehlo.dynamic_slice %459, %c, %4, %c, sizes = [4, 8, 64] : (tensor<4x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x8x64xf32>
    %461 = stablehlo.multiply %150, %460 : tensor<4x8x64xf32>
    %462 = stablehlo.reduce(%461 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<64xf32>
    %463 = stablehlo.broadcast_in_dim %151, dims = [0, 1, 2] : (tensor<1x1x64xf32>) -> tensor<4x8x64xf32>
    %464 = stablehlo.multiply %460, %463 : tensor<4x8x64xf32>
    %465 = stablehlo.multiply %464, %149 : tensor<4x8x64xf32>
    %466 = stablehlo.add %447, %465 : tensor<4x8x64xf32>
    %467 = stablehlo.multiply %140, %464 : tensor<4x8x64xf32>
    %468 = stablehlo.reduce(%467 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<4x8xf32>
    %469 = stablehlo.reshape %468 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %470 = stablehlo.multiply %469, %148 : tensor<4x8x1xf32>
    %471 = stablehlo.divide %470, %31 : tensor<4x8x1xf32>
    %472 = stablehlo.reduce(%471 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %473 = stablehlo.broadcast_in_dim %472, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x64xf32>
    %474 = stablehlo.multiply %140, %473 : tensor<4x8x64xf32>
    %475 = stablehlo.add %466, %474 : tensor<4x8x64xf32>
    %476 = stablehlo.multiply %473, %140 : tensor<4x8x64xf32>
    %477 = stablehlo.add %475, %476 : tensor<4x8x64xf32>
    %478 = "stablehlo.all_gather"(%477) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x8x64xf32>) -> tensor<4x32x64xf32>
    %479 = stablehlo.dot_general %478, %arg7, contracting_dims = [2] x [2], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<2x8x64xf32>) -> tensor<4x32x2x8xf32>
    %480 = "stablehlo.all_to_all"(%479) <{concat_dimension = 2 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x32x2x8xf32>) -> tensor<4x8x8x8xf32>
    %481 = stablehlo.reshape %480 : (tensor<4x8x8x8xf32>) -> tensor<4x8x4x2x8xf32>
    %482 = stablehlo.transpose %481, dims = [0, 2, 4, 3, 1] : (tensor<4x8x4x2x8xf32>) -> tensor<4x4x8x2x8xf32>
    %483 = "stablehlo.all_to_all"(%482) <{concat_dimension = 4 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x4x8x2x8xf32>) -> tensor<4x1x8x2x32xf32>
    %484 = stablehlo.dot_general %483, %131, batching_dims = [0, 1] x [0, 1], contracting_dims = [3, 4] x [2, 3], precision = [DEFAULT, DEFAULT] : (tensor<4x1x8x2x32xf32>, tensor<4x1x2x32x32xf32>) -> tensor<4x1x8x32xf32>
    %485 = stablehlo.transpose %484, dims = [0, 3, 1, 2] : (tensor<4x1x8x32xf32>) -> tensor<4x32x1x8xf32>
    %486 = stablehlo.dot_general %485, %arg9, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<64x1x8xf32>) -> tensor<4x32x64xf32>
    %487 = "stablehlo.all_to_all"(%127) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 3 : i64}> : (tensor<4x1x2x32x32xf32>) -> tensor<4x4x2x8x32xf32>
    %488 = "stablehlo.all_gather"(%48) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x32x1x8xf32>) -> tensor<4x32x4x8xf32>
    %489 = stablehlo.dot_general %482, %488, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [3], precision = [DEFAULT, DEFAULT] : (tensor<4x4x8x2x8xf32>, tensor<4x32x4x8xf32>) -> tensor<4x4x2x8x32xf32>
    %490 = "stablehlo.all_to_all"(%129) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 3 : i64}> : (tensor<4x1x2x32x1xf32>) -> tensor<4x4x2x8x1xf32>
    %491 = stablehlo.broadcast_in_dim %490, dims = [0, 1, 2, 3, 4] : (tensor<4x4x2x8x1xf32>) -> tensor<4x4x2x8x32xf32>
    %492 = stablehlo.divide %489, %491 : tensor<4x4x2x8x32xf32>
    %493 = "stablehlo.all_to_all"(%134) <{concat_dimension = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 3 : i64}> : (tensor<4x1x2x32x1xf32>) -> tensor<4x4x2x8x1xf32>
    %494 = stablehlo.broadcast_in_dim %493, dims = [0, 1, 2, 3, 4] : (tensor<4x4x2x8x1xf32>) -> tensor<4x4x2x8x32xf32>
    %495 = stablehlo.multiply %489, %494 : tensor<4x4x2x8x32xf32>
    %496 = stablehlo.multiply %495, %487 : tensor<4x4x2x8x32xf32>
    %497 = stablehlo.reduce(%496 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<4x4x2x8x32xf32>, tensor<f32>) -> tensor<4x4x2x8xf32>
    %498 = stablehlo.reshape %497 : (tensor<4x4x2x8xf32>) -> tensor<4x4x2x8x1xf32>
    %499 = stablehlo.negate %498 : tensor<4x4x2x8x1xf32>
    %500 = stablehlo.reduce(%499 init: %cst) applies stablehlo.add across dimensions = [4] : (tensor<4x4x2x8x1xf32>, tensor<f32>) -> tensor<4x4x2x8xf32>
    %501 = stablehlo.broadcast_in_dim %500, dims = [0, 1, 2, 3] : (tensor<4x4x2x8xf32>) -> tensor<4x4x2x8x32xf32>
    %502 = stablehlo.add %492, %501 : tensor<4x4x2x8x32xf32>
    %503 = stablehlo.multiply %502, %487 : tensor<4x4x2x8x32xf32>
    %504 = stablehlo.select %118, %503, %394 : tensor<4x4x2x8x32xi1>, tensor<4x4x2x8x32xf32>
    %505 = stablehlo.divide %504, %396 : tensor<4x4x2x8x32xf32>
    %506 = stablehlo.transpose %505, dims = [0, 1, 4, 3, 2] : (tensor<4x4x2x8x32xf32>) -> tensor<4x4x32x8x2xf32>
    %507 = "stablehlo.all_to_all"(%506) <{concat_dimension = 3 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, split_count = 4 : i64, split_dimension = 1 : i64}> : (tensor<4x4x32x8x2xf32>) -> tensor<4x1x32x32x2xf32>
    %508 = stablehlo.dot_general %507, %92, batching_dims = [0, 1] x [0, 2], contracting_dims = [3, 4] x [1, 3], precision = [DEFAULT, DEFAULT] : (tensor<4x1x32x32x2xf32>, tensor<4x32x1x2x8xf32>) -> tensor<4x1x32x8xf32>
    %509 = stablehlo.transpose %508, dims = [0, 2, 1, 3] : (tensor<4x1x32x8xf32>) -> tensor<4x32x1x8xf32>
    %510 = stablehlo.slice %509 [0:4, 0:32, 0:1, 4:8] : (tensor<4x32x1x8xf32>) -> tensor<4x32x1x4xf32>
    %511 = stablehlo.multiply %510, %83 : tensor<4x32x1x4xf32>
    %512 = stablehlo.slice %509 [0:4, 0:32, 0:1, 0:4] : (tensor<4x32x1x8xf32>) -> tensor<4x32x1x4xf32>
    %513 = stablehlo.negate %512 : tensor<4x32x1x4xf32>
    %514 = stablehlo.multiply %513, %85 : tensor<4x32x1x4xf32>
    %515 = stablehlo.add %511, %514 : tensor<4x32x1x4xf32>
    %516 = stablehlo.multiply %510, %85 : tensor<4x32x1x4xf32>
    %517 = stablehlo.multiply %512, %83 : tensor<4x32x1x4xf32>
    %518 = stablehlo.add %516, %517 : tensor<4x32x1x4xf32>
    %519 = stablehlo.concatenate %518, %515, dim = 3 : (tensor<4x32x1x4xf32>, tensor<4x32x1x4xf32>) -> tensor<4x32x1x8xf32>
    %520 = stablehlo.dot_general %519, %arg6, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<64x1x8xf32>) -> tensor<4x32x64xf32>
    %521 = stablehlo.add %486, %520 : tensor<4x32x64xf32>
    %522 = stablehlo.dot_general %507, %91, batching_dims = [0, 1] x [0, 2], contracting_dims = [2] x [1], precision = [DEFAULT, DEFAULT] : (tensor<4x1x32x32x2xf32>, tensor<4x32x1x8xf32>) -> tensor<4x1x32x2x8xf32>
    %523 = stablehlo.transpose %522, dims = [0, 2, 1, 3, 4] : (tensor<4x1x32x2x8xf32>) -> tensor<4x32x1x2x8xf32>
    %524 = stablehlo.reshape %523 : (tensor<4x32x1x2x8xf32>) -> tensor<4x32x2x8xf32>
    %525 = stablehlo.slice %524 [0:4, 0:32, 0:2, 4:8] : (tensor<4x32x2x8xf32>) -> tensor<4x32x2x4xf32>
    %526 = stablehlo.multiply %525, %72 : tensor<4x32x2x4xf32>
    %527 = stablehlo.slice %524 [0:4, 0:32, 0:2, 0:4] : (tensor<4x32x2x8xf32>) -> tensor<4x32x2x4xf32>
    %528 = stablehlo.negate %527 : tensor<4x32x2x4xf32>
    %529 = stablehlo.multiply %528, %74 : tensor<4x32x2x4xf32>
    %530 = stablehlo.add %526, %529 : tensor<4x32x2x4xf32>
    %531 = stablehlo.multiply %525, %74 : tensor<4x32x2x4xf32>
    %532 = stablehlo.multiply %527, %72 : tensor<4x32x2x4xf32>
    %533 = stablehlo.add %531, %532 : tensor<4x32x2x4xf32>
    %534 = stablehlo.concatenate %533, %530, dim = 3 : (tensor<4x32x2x4xf32>, tensor<4x32x2x4xf32>) -> tensor<4x32x2x8xf32>
    %535 = stablehlo.dot_general %534, %arg8, contracting_dims = [2, 3] x [1, 2], precision = [DEFAULT, DEFAULT] : (tensor<4x32x2x8xf32>, tensor<64x2x8xf32>) -> tensor<4x32x64xf32>
    %536 = stablehlo.add %521, %535 : tensor<4x32x64xf32>
    %537 = "stablehlo.all_reduce"(%536) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<4x32x64xf32>) -> tensor<4x32x64xf32>
    %538 = stablehlo.dynamic_slice %537, %c, %4, %c, sizes = [4, 8, 64] : (tensor<4x32x64xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<4x8x64xf32>
    %539 = stablehlo.multiply %40, %538 : tensor<4x8x64xf32>
    %540 = stablehlo.reduce(%539 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<64xf32>
    %541:6 = "stablehlo.all_reduce"(%307, %324, %352, %432, %462, %540) <{replica_groups = dense<[[0, 1, 2, 3, 4, 5, 6, 7]]> : tensor<1x8xi64>}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<f32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) -> (tensor<f32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64xf32>)
    %542 = stablehlo.divide %541#0, %cst_20 : tensor<f32>
    %543 = stablehlo.dot_general %321, %269, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x8x256xf32>, tensor<4x8x64xf32>) -> tensor<256x64xf32>
    %544 = stablehlo.transpose %543, dims = [1, 0] : (tensor<256x64xf32>) -> tensor<64x256xf32>
    %545 = "stablehlo.reduce_scatter"(%544) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>, scatter_dimension = 1 : i64}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<64x256xf32>) -> tensor<64x64xf32>
    %546 = stablehlo.reshape %541#1 : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %547 = stablehlo.reduce(%546 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %548 = stablehlo.dot_general %338, %253, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<4x32x32xf32>) -> tensor<64x32xf32>
    %549 = stablehlo.transpose %548, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
    %550 = stablehlo.dot_general %340, %243, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x32xf32>, tensor<4x32x64xf32>) -> tensor<32x64xf32>
    %551 = stablehlo.transpose %550, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
    %552 = stablehlo.dot_general %346, %243, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x32xf32>, tensor<4x32x64xf32>) -> tensor<32x64xf32>
    %553 = stablehlo.transpose %552, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
    %554 = stablehlo.reshape %541#2 : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %555 = stablehlo.reduce(%554 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %556 = stablehlo.dot_general %368, %225, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<4x32x2x8xf32>) -> tensor<64x2x8xf32>
    %557 = stablehlo.transpose %556, dims = [1, 2, 0] : (tensor<64x2x8xf32>) -> tensor<2x8x64xf32>
    %558 = stablehlo.dot_general %375, %184, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<4x32x64xf32>) -> tensor<1x8x64xf32>
    %559 = stablehlo.transpose %558, dims = [2, 0, 1] : (tensor<1x8x64xf32>) -> tensor<64x1x8xf32>
    %560 = stablehlo.dot_general %411, %184, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<4x32x64xf32>) -> tensor<1x8x64xf32>
    %561 = stablehlo.transpose %560, dims = [2, 0, 1] : (tensor<1x8x64xf32>) -> tensor<64x1x8xf32>
    %562 = stablehlo.dot_general %426, %184, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x2x8xf32>, tensor<4x32x64xf32>) -> tensor<2x8x64xf32>
    %563 = stablehlo.transpose %562, dims = [2, 0, 1] : (tensor<2x8x64xf32>) -> tensor<64x2x8xf32>
    %564 = stablehlo.reshape %541#3 : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %565 = stablehlo.reduce(%564 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %566 = stablehlo.dot_general %448, %166, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<4x32x32xf32>) -> tensor<64x32xf32>
    %567 = stablehlo.transpose %566, dims = [1, 0] : (tensor<64x32xf32>) -> tensor<32x64xf32>
    %568 = stablehlo.dot_general %450, %155, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x32xf32>, tensor<4x32x64xf32>) -> tensor<32x64xf32>
    %569 = stablehlo.transpose %568, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
    %570 = stablehlo.dot_general %456, %155, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x32xf32>, tensor<4x32x64xf32>) -> tensor<32x64xf32>
    %571 = stablehlo.transpose %570, dims = [1, 0] : (tensor<32x64xf32>) -> tensor<64x32xf32>
    %572 = stablehlo.reshape %541#4 : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %573 = stablehlo.reduce(%572 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %574 = stablehlo.dot_general %478, %137, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x64xf32>, tensor<4x32x2x8xf32>) -> tensor<64x2x8xf32>
    %575 = stablehlo.transpose %574, dims = [1, 2, 0] : (tensor<64x2x8xf32>) -> tensor<2x8x64xf32>
    %576 = stablehlo.dot_general %485, %45, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<4x32x64xf32>) -> tensor<1x8x64xf32>
    %577 = stablehlo.transpose %576, dims = [2, 0, 1] : (tensor<1x8x64xf32>) -> tensor<64x1x8xf32>
    %578 = stablehlo.dot_general %519, %45, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x1x8xf32>, tensor<4x32x64xf32>) -> tensor<1x8x64xf32>
    %579 = stablehlo.transpose %578, dims = [2, 0, 1] : (tensor<1x8x64xf32>) -> tensor<64x1x8xf32>
    %580 = stablehlo.dot_general %534, %45, contracting_dims = [0, 1] x [0, 1], precision = [DEFAULT, DEFAULT] : (tensor<4x32x2x8xf32>, tensor<4x32x64xf32>) -> tensor<2x8x64xf32>
    %581 = stablehlo.transpose %580, dims = [2, 0, 1] : (tensor<2x8x64xf32>) -> tensor<64x2x8xf32>
    %582 = stablehlo.reshape %541#5 : (tensor<64xf32>) -> tensor<1x1x64xf32>
    %583 = stablehlo.broadcast_in_dim %41, dims = [0, 1, 2] : (tensor<1x1x64xf32>) -> tensor<4x8x64xf32>
    %584 = stablehlo.multiply %538, %583 : tensor<4x8x64xf32>
    %585 = stablehlo.reduce(%582 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<1x1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %586 = stablehlo.multiply %27, %584 : tensor<4x8x64xf32>
    %587 = stablehlo.reduce(%586 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x64xf32>, tensor<f32>) -> tensor<4x8xf32>
    %588 = stablehlo.reshape %587 : (tensor<4x8xf32>) -> tensor<4x8x1xf32>
    %589 = stablehlo.multiply %584, %39 : tensor<4x8x64xf32>
    %590 = stablehlo.add %477, %589 : tensor<4x8x64xf32>
    %591 = stablehlo.multiply %588, %38 : tensor<4x8x1xf32>
    %592 = stablehlo.divide %591, %31 : tensor<4x8x1xf32>
    %593 = stablehlo.reduce(%592 init: %cst) applies stablehlo.add across dimensions = [2] : (tensor<4x8x1xf32>, tensor<f32>) -> tensor<4x8xf32>
    %594 = stablehlo.broadcast_in_dim %593, dims = [0, 1] : (tensor<4x8xf32>) -> tensor<4x8x64xf32>
    %595 = stablehlo.multiply %27, %594 : tensor<4x8x64xf32>
    %596 = stablehlo.add %590, %595 : tensor<4x8x64xf32>
    %597 = stablehlo.multiply %594, %27 : tensor<4x8x64xf32>
    %598 = stablehlo.add %596, %597 : tensor<4x8x64xf32>
    %599 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %600 = "stablehlo.all_gather"(%598) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> : (tensor<4x8x64xf32>) -> tensor<4x32x64xf32>
    %601 = stablehlo.subtract %11, %16 : tensor<4x32x1xi32>
    %602 = "stablehlo.scatter"(%599, %601, %600) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [2], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<64x64xf32>, tensor<4x32x1xi32>, tensor<4x32x64xf32>) -> tensor<64x64xf32>
    %603:16 = "stablehlo.all_reduce"(%545, %549, %551, %553, %557, %559, %561, %563, %567, %569, %571, %575, %577, %579, %581, %602) <{replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<64x64xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<2x8x64xf32>, tensor<64x1x8xf32>, tensor<64x1x8xf32>, tensor<64x2x8xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<2x8x64xf32>, tensor<64x1x8xf32>, tensor<64x1x8xf32>, tensor<64x2x8xf32>, tensor<64x64xf32>) -> (tensor<64x64xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<2x8x64xf32>, tensor<64x1x8xf32>, tensor<64x1x8xf32>, tensor<64x2x8xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<2x8x64xf32>, tensor<64x1x8xf32>, tensor<64x1x8xf32>, tensor<64x2x8xf32>, tensor<64x64xf32>)
    %604 = chlo.square %603#15 : tensor<64x64xf32> -> tensor<64x64xf32>
    %605 = chlo.square %599 : tensor<64x64xf32> -> tensor<64x64xf32>
    %606 = stablehlo.add %604, %605 : tensor<64x64xf32>
    %607 = chlo.square %585 : tensor<64xf32> -> tensor<64xf32>
    %608 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %609 = chlo.square %608 : tensor<64xf32> -> tensor<64xf32>
    %610 = stablehlo.add %607, %609 : tensor<64xf32>
    %611 = chlo.square %573 : tensor<64xf32> -> tensor<64xf32>
    %612 = stablehlo.add %611, %609 : tensor<64xf32>
    %613 = chlo.square %603#8 : tensor<32x64xf32> -> tensor<32x64xf32>
    %614 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %615 = chlo.square %614 : tensor<32x64xf32> -> tensor<32x64xf32>
    %616 = stablehlo.add %613, %615 : tensor<32x64xf32>
    %617 = chlo.square %603#10 : tensor<64x32xf32> -> tensor<64x32xf32>
    %618 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %619 = chlo.square %618 : tensor<64x32xf32> -> tensor<64x32xf32>
    %620 = stablehlo.add %617, %619 : tensor<64x32xf32>
    %621 = chlo.square %603#9 : tensor<64x32xf32> -> tensor<64x32xf32>
    %622 = stablehlo.add %621, %619 : tensor<64x32xf32>
    %623 = chlo.square %603#13 : tensor<64x1x8xf32> -> tensor<64x1x8xf32>
    %624 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x1x8xf32>
    %625 = chlo.square %624 : tensor<64x1x8xf32> -> tensor<64x1x8xf32>
    %626 = stablehlo.add %623, %625 : tensor<64x1x8xf32>
    %627 = chlo.square %603#11 : tensor<2x8x64xf32> -> tensor<2x8x64xf32>
    %628 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x8x64xf32>
    %629 = chlo.square %628 : tensor<2x8x64xf32> -> tensor<2x8x64xf32>
    %630 = stablehlo.add %627, %629 : tensor<2x8x64xf32>
    %631 = chlo.square %603#14 : tensor<64x2x8xf32> -> tensor<64x2x8xf32>
    %632 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<64x2x8xf32>
    %633 = chlo.square %632 : tensor<64x2x8xf32> -> tensor<64x2x8xf32>
    %634 = stablehlo.add %631, %633 : tensor<64x2x8xf32>
    %635 = chlo.square %603#12 : tensor<64x1x8xf32> -> tensor<64x1x8xf32>
    %636 = stablehlo.add %635, %625 : tensor<64x1x8xf32>
    %637 = chlo.square %565 : tensor<64xf32> -> tensor<64xf32>
    %638 = stablehlo.add %637, %609 : tensor<64xf32>
    %639 = chlo.square %555 : tensor<64xf32> -> tensor<64xf32>
    %640 = stablehlo.add %639, %609 : tensor<64xf32>
    %641 = chlo.square %603#1 : tensor<32x64xf32> -> tensor<32x64xf32>
    %642 = stablehlo.add %641, %615 : tensor<32x64xf32>
    %643 = chlo.square %603#3 : tensor<64x32xf32> -> tensor<64x32xf32>
    %644 = stablehlo.add %643, %619 : tensor<64x32xf32>
    %645 = chlo.square %603#2 : tensor<64x32xf32> -> tensor<64x32xf32>
    %646 = stablehlo.add %645, %619 : tensor<64x32xf32>
    %647 = chlo.square %603#6 : tensor<64x1x8xf32> -> tensor<64x1x8xf32>
    %648 = stablehlo.add %647, %625 : tensor<64x1x8xf32>
    %649 = chlo.square %603#4 : tensor<2x8x64xf32> -> tensor<2x8x64xf32>
    %650 = stablehlo.add %649, %629 : tensor<2x8x64xf32>
    %651 = chlo.square %603#7 : tensor<64x2x8xf32> -> tensor<64x2x8xf32>
    %652 = stablehlo.add %651, %633 : tensor<64x2x8xf32>
    %653 = chlo.square %603#5 : tensor<64x1x8xf32> -> tensor<64x1x8xf32>
    %654 = stablehlo.add %653, %625 : tensor<64x1x8xf32>
    %655 = chlo.square %603#0 : tensor<64x64xf32> -> tensor<64x64xf32>
    %656 = stablehlo.add %655, %605 : tensor<64x64xf32>
    %657 = chlo.square %547 : tensor<64xf32> -> tensor<64xf32>
    %658 = stablehlo.add %657, %609 : tensor<64xf32>
    %659 = stablehlo.reduce(%606 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<f32>
    %660 = stablehlo.reduce(%610 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %661 = stablehlo.reduce(%612 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %662 = stablehlo.reduce(%616 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<f32>
    %663 = stablehlo.reduce(%620 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x32xf32>, tensor<f32>) -> tensor<f32>
    %664 = stablehlo.reduce(%622 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x32xf32>, tensor<f32>) -> tensor<f32>
    %665 = stablehlo.reduce(%626 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<64x1x8xf32>, tensor<f32>) -> tensor<f32>
    %666 = stablehlo.reduce(%630 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x8x64xf32>, tensor<f32>) -> tensor<f32>
    %667 = stablehlo.reduce(%634 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<64x2x8xf32>, tensor<f32>) -> tensor<f32>
    %668 = stablehlo.reduce(%636 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<64x1x8xf32>, tensor<f32>) -> tensor<f32>
    %669 = stablehlo.reduce(%638 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %670 = stablehlo.reduce(%640 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %671 = stablehlo.reduce(%642 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<32x64xf32>, tensor<f32>) -> tensor<f32>
    %672 = stablehlo.reduce(%644 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x32xf32>, tensor<f32>) -> tensor<f32>
    %673 = stablehlo.reduce(%646 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x32xf32>, tensor<f32>) -> tensor<f32>
    %674 = stablehlo.reduce(%648 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<64x1x8xf32>, tensor<f32>) -> tensor<f32>
    %675 = stablehlo.reduce(%650 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<2x8x64xf32>, tensor<f32>) -> tensor<f32>
    %676 = stablehlo.reduce(%652 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<64x2x8xf32>, tensor<f32>) -> tensor<f32>
    %677 = stablehlo.reduce(%654 init: %cst) applies stablehlo.add across dimensions = [0, 1, 2] : (tensor<64x1x8xf32>, tensor<f32>) -> tensor<f32>
    %678 = stablehlo.reduce(%656 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<64x64xf32>, tensor<f32>) -> tensor<f32>
    %679 = stablehlo.reduce(%658 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    %680 = stablehlo.add %662, %663 : tensor<f32>
    %681 = stablehlo.add %680, %664 : tensor<f32>
    %682 = stablehlo.add %681, %665 : tensor<f32>
    %683 = stablehlo.add %682, %666 : tensor<f32>
    %684 = stablehlo.add %683, %667 : tensor<f32>
    %685 = stablehlo.add %684, %668 : tensor<f32>
    %686 = stablehlo.add %671, %672 : tensor<f32>
    %687 = stablehlo.add %686, %673 : tensor<f32>
    %688 = stablehlo.add %687, %674 : tensor<f32>
    %689 = stablehlo.add %688, %675 : tensor<f32>
    %690 = stablehlo.add %689, %676 : tensor<f32>
    %691 = stablehlo.add %690, %677 : tensor<f32>
    %692 = stablehlo.add %691, %678 : tensor<f32>
    %693:3 = "stablehlo.all_reduce"(%659, %685, %692) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%arg66: tensor<f32>, %arg67: tensor<f32>):
      %1202 = stablehlo.add %arg66, %arg67 : tensor<f32>
      stablehlo.return %1202 : tensor<f32>
    }) : (tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>)
    %694 = stablehlo.add %cst, %693#0 : tensor<f32>
    %695 = stablehlo.add %694, %660 : tensor<f32>
    %696 = stablehlo.add %695, %661 : tensor<f32>
    %697 = stablehlo.add %696, %693#1 : tensor<f32>
    %698 = stablehlo.add %697, %669 : tensor<f32>
    %699 = stablehlo.add %698, %670 : tensor<f32>
    %700 = stablehlo.add %699, %693#2 : tensor<f32>
    %701 = stablehlo.add %700, %679 : tensor<f32>
    %702 = stablehlo.sqrt %701 : tensor<f32>
    %703 = stablehlo.compare LT, %702, %cst_11, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    %704 = stablehlo.broadcast_in_dim %702, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %705 = stablehlo.divide %603#15, %704 : tensor<64x64xf32>
    %706 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %707 = stablehlo.multiply %705, %706 : tensor<64x64xf32>
    %708 = stablehlo.select %703, %603#15, %707 : tensor<i1>, tensor<64x64xf32>
    %709 = stablehlo.broadcast_in_dim %702, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %710 = stablehlo.divide %585, %709 : tensor<64xf32>
    %711 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %712 = stablehlo.multiply %710, %711 : tensor<64xf32>
    %713 = stablehlo.select %703, %585, %712 : tensor<i1>, tensor<64xf32>
    %714 = stablehlo.divide %573, %709 : tensor<64xf32>
    %715 = stablehlo.multiply %714, %711 : tensor<64xf32>
    %716 = stablehlo.select %703, %573, %715 : tensor<i1>, tensor<64xf32>
    %717 = stablehlo.broadcast_in_dim %702, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %718 = stablehlo.divide %603#8, %717 : tensor<32x64xf32>
    %719 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %720 = stablehlo.multiply %718, %719 : tensor<32x64xf32>
    %721 = stablehlo.select %703, %603#8, %720 : tensor<i1>, tensor<32x64xf32>
    %722 = stablehlo.broadcast_in_dim %702, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %723 = stablehlo.divide %603#10, %722 : tensor<64x32xf32>
    %724 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %725 = stablehlo.multiply %723, %724 : tensor<64x32xf32>
    %726 = stablehlo.select %703, %603#10, %725 : tensor<i1>, tensor<64x32xf32>
    %727 = stablehlo.divide %603#9, %722 : tensor<64x32xf32>
    %728 = stablehlo.multiply %727, %724 : tensor<64x32xf32>
    %729 = stablehlo.select %703, %603#9, %728 : tensor<i1>, tensor<64x32xf32>
    %730 = stablehlo.broadcast_in_dim %702, dims = [] : (tensor<f32>) -> tensor<64x1x8xf32>
    %731 = stablehlo.divide %603#13, %730 : tensor<64x1x8xf32>
    %732 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<64x1x8xf32>
    %733 = stablehlo.multiply %731, %732 : tensor<64x1x8xf32>
    %734 = stablehlo.select %703, %603#13, %733 : tensor<i1>, tensor<64x1x8xf32>
    %735 = stablehlo.broadcast_in_dim %702, dims = [] : (tensor<f32>) -> tensor<2x8x64xf32>
    %736 = stablehlo.divide %603#11, %735 : tensor<2x8x64xf32>
    %737 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2x8x64xf32>
    %738 = stablehlo.multiply %736, %737 : tensor<2x8x64xf32>
    %739 = stablehlo.select %703, %603#11, %738 : tensor<i1>, tensor<2x8x64xf32>
    %740 = stablehlo.broadcast_in_dim %702, dims = [] : (tensor<f32>) -> tensor<64x2x8xf32>
    %741 = stablehlo.divide %603#14, %740 : tensor<64x2x8xf32>
    %742 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<64x2x8xf32>
    %743 = stablehlo.multiply %741, %742 : tensor<64x2x8xf32>
    %744 = stablehlo.select %703, %603#14, %743 : tensor<i1>, tensor<64x2x8xf32>
    %745 = stablehlo.divide %603#12, %730 : tensor<64x1x8xf32>
    %746 = stablehlo.multiply %745, %732 : tensor<64x1x8xf32>
    %747 = stablehlo.select %703, %603#12, %746 : tensor<i1>, tensor<64x1x8xf32>
    %748 = stablehlo.divide %565, %709 : tensor<64xf32>
    %749 = stablehlo.multiply %748, %711 : tensor<64xf32>
    %750 = stablehlo.select %703, %565, %749 : tensor<i1>, tensor<64xf32>
    %751 = stablehlo.divide %555, %709 : tensor<64xf32>
    %752 = stablehlo.multiply %751, %711 : tensor<64xf32>
    %753 = stablehlo.select %703, %555, %752 : tensor<i1>, tensor<64xf32>
    %754 = stablehlo.divide %603#1, %717 : tensor<32x64xf32>
    %755 = stablehlo.multiply %754, %719 : tensor<32x64xf32>
    %756 = stablehlo.select %703, %603#1, %755 : tensor<i1>, tensor<32x64xf32>
    %757 = stablehlo.divide %603#3, %722 : tensor<64x32xf32>
    %758 = stablehlo.multiply %757, %724 : tensor<64x32xf32>
    %759 = stablehlo.select %703, %603#3, %758 : tensor<i1>, tensor<64x32xf32>
    %760 = stablehlo.divide %603#2, %722 : tensor<64x32xf32>
    %761 = stablehlo.multiply %760, %724 : tensor<64x32xf32>
    %762 = stablehlo.select %703, %603#2, %761 : tensor<i1>, tensor<64x32xf32>
    %763 = stablehlo.divide %603#6, %730 : tensor<64x1x8xf32>
    %764 = stablehlo.multiply %763, %732 : tensor<64x1x8xf32>
    %765 = stablehlo.select %703, %603#6, %764 : tensor<i1>, tensor<64x1x8xf32>
    %766 = stablehlo.divide %603#4, %735 : tensor<2x8x64xf32>
    %767 = stablehlo.multiply %766, %737 : tensor<2x8x64xf32>
    %768 = stablehlo.select %703, %603#4, %767 : tensor<i1>, tensor<2x8x64xf32>
    %769 = stablehlo.divide %603#7, %740 : tensor<64x2x8xf32>
    %770 = stablehlo.multiply %769, %742 : tensor<64x2x8xf32>
    %771 = stablehlo.select %703, %603#7, %770 : tensor<i1>, tensor<64x2x8xf32>
    %772 = stablehlo.divide %603#5, %730 : tensor<64x1x8xf32>
    %773 = stablehlo.multiply %772, %732 : tensor<64x1x8xf32>
    %774 = stablehlo.select %703, %603#5, %773 : tensor<i1>, tensor<64x1x8xf32>
    %775 = stablehlo.divide %603#0, %704 : tensor<64x64xf32>
    %776 = stablehlo.multiply %775, %706 : tensor<64x64xf32>
    %777 = stablehlo.select %703, %603#0, %776 : tensor<i1>, tensor<64x64xf32>
    %778 = stablehlo.divide %547, %709 : tensor<64xf32>
    %779 = stablehlo.multiply %778, %711 : tensor<64xf32>
    %780 = stablehlo.select %703, %547, %779 : tensor<i1>, tensor<64xf32>
    %cst_21 = stablehlo.constant dense<1.000000e-01> : tensor<f32>
    %781 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %782 = stablehlo.multiply %781, %708 : tensor<64x64xf32>
    %cst_22 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %783 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %784 = stablehlo.multiply %783, %arg22 : tensor<64x64xf32>
    %785 = stablehlo.add %782, %784 : tensor<64x64xf32>
    %786 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %787 = stablehlo.multiply %786, %713 : tensor<64xf32>
    %788 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %789 = stablehlo.multiply %788, %arg23 : tensor<64xf32>
    %790 = stablehlo.add %787, %789 : tensor<64xf32>
    %791 = stablehlo.multiply %786, %716 : tensor<64xf32>
    %792 = stablehlo.multiply %788, %arg24 : tensor<64xf32>
    %793 = stablehlo.add %791, %792 : tensor<64xf32>
    %794 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %795 = stablehlo.multiply %794, %721 : tensor<32x64xf32>
    %796 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %797 = stablehlo.multiply %796, %arg25 : tensor<32x64xf32>
    %798 = stablehlo.add %795, %797 : tensor<32x64xf32>
    %799 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %800 = stablehlo.multiply %799, %726 : tensor<64x32xf32>
    %801 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %802 = stablehlo.multiply %801, %arg26 : tensor<64x32xf32>
    %803 = stablehlo.add %800, %802 : tensor<64x32xf32>
    %804 = stablehlo.multiply %799, %729 : tensor<64x32xf32>
    %805 = stablehlo.multiply %801, %arg27 : tensor<64x32xf32>
    %806 = stablehlo.add %804, %805 : tensor<64x32xf32>
    %807 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<64x1x8xf32>
    %808 = stablehlo.multiply %807, %734 : tensor<64x1x8xf32>
    %809 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<64x1x8xf32>
    %810 = stablehlo.multiply %809, %arg28 : tensor<64x1x8xf32>
    %811 = stablehlo.add %808, %810 : tensor<64x1x8xf32>
    %812 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<2x8x64xf32>
    %813 = stablehlo.multiply %812, %739 : tensor<2x8x64xf32>
    %814 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<2x8x64xf32>
    %815 = stablehlo.multiply %814, %arg29 : tensor<2x8x64xf32>
    %816 = stablehlo.add %813, %815 : tensor<2x8x64xf32>
    %817 = stablehlo.broadcast_in_dim %cst_21, dims = [] : (tensor<f32>) -> tensor<64x2x8xf32>
    %818 = stablehlo.multiply %817, %744 : tensor<64x2x8xf32>
    %819 = stablehlo.broadcast_in_dim %cst_22, dims = [] : (tensor<f32>) -> tensor<64x2x8xf32>
    %820 = stablehlo.multiply %819, %arg30 : tensor<64x2x8xf32>
    %821 = stablehlo.add %818, %820 : tensor<64x2x8xf32>
    %822 = stablehlo.multiply %807, %747 : tensor<64x1x8xf32>
    %823 = stablehlo.multiply %809, %arg31 : tensor<64x1x8xf32>
    %824 = stablehlo.add %822, %823 : tensor<64x1x8xf32>
    %825 = stablehlo.multiply %786, %750 : tensor<64xf32>
    %826 = stablehlo.multiply %788, %arg32 : tensor<64xf32>
    %827 = stablehlo.add %825, %826 : tensor<64xf32>
    %828 = stablehlo.multiply %786, %753 : tensor<64xf32>
    %829 = stablehlo.multiply %788, %arg33 : tensor<64xf32>
    %830 = stablehlo.add %828, %829 : tensor<64xf32>
    %831 = stablehlo.multiply %794, %756 : tensor<32x64xf32>
    %832 = stablehlo.multiply %796, %arg34 : tensor<32x64xf32>
    %833 = stablehlo.add %831, %832 : tensor<32x64xf32>
    %834 = stablehlo.multiply %799, %759 : tensor<64x32xf32>
    %835 = stablehlo.multiply %801, %arg35 : tensor<64x32xf32>
    %836 = stablehlo.add %834, %835 : tensor<64x32xf32>
    %837 = stablehlo.multiply %799, %762 : tensor<64x32xf32>
    %838 = stablehlo.multiply %801, %arg36 : tensor<64x32xf32>
    %839 = stablehlo.add %837, %838 : tensor<64x32xf32>
    %840 = stablehlo.multiply %807, %765 : tensor<64x1x8xf32>
    %841 = stablehlo.multiply %809, %arg37 : tensor<64x1x8xf32>
    %842 = stablehlo.add %840, %841 : tensor<64x1x8xf32>
    %843 = stablehlo.multiply %812, %768 : tensor<2x8x64xf32>
    %844 = stablehlo.multiply %814, %arg38 : tensor<2x8x64xf32>
    %845 = stablehlo.add %843, %844 : tensor<2x8x64xf32>
    %846 = stablehlo.multiply %817, %771 : tensor<64x2x8xf32>
    %847 = stablehlo.multiply %819, %arg39 : tensor<64x2x8xf32>
    %848 = stablehlo.add %846, %847 : tensor<64x2x8xf32>
    %849 = stablehlo.multiply %807, %774 : tensor<64x1x8xf32>
    %850 = stablehlo.multiply %809, %arg40 : tensor<64x1x8xf32>
    %851 = stablehlo.add %849, %850 : tensor<64x1x8xf32>
    %852 = stablehlo.multiply %781, %777 : tensor<64x64xf32>
    %853 = stablehlo.multiply %783, %arg41 : tensor<64x64xf32>
    %854 = stablehlo.add %852, %853 : tensor<64x64xf32>
    %855 = stablehlo.multiply %786, %780 : tensor<64xf32>
    %856 = stablehlo.multiply %788, %arg42 : tensor<64xf32>
    %857 = stablehlo.add %855, %856 : tensor<64xf32>
    %858 = stablehlo.multiply %708, %708 : tensor<64x64xf32>
    %cst_23 = stablehlo.constant dense<5.000000e-02> : tensor<f32>
    %859 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %860 = stablehlo.multiply %859, %858 : tensor<64x64xf32>
    %cst_24 = stablehlo.constant dense<0.949999988> : tensor<f32>
    %861 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %862 = stablehlo.multiply %861, %arg43 : tensor<64x64xf32>
    %863 = stablehlo.add %860, %862 : tensor<64x64xf32>
    %864 = stablehlo.multiply %713, %713 : tensor<64xf32>
    %865 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %866 = stablehlo.multiply %865, %864 : tensor<64xf32>
    %867 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %868 = stablehlo.multiply %867, %arg44 : tensor<64xf32>
    %869 = stablehlo.add %866, %868 : tensor<64xf32>
    %870 = stablehlo.multiply %716, %716 : tensor<64xf32>
    %871 = stablehlo.multiply %865, %870 : tensor<64xf32>
    %872 = stablehlo.multiply %867, %arg45 : tensor<64xf32>
    %873 = stablehlo.add %871, %872 : tensor<64xf32>
    %874 = stablehlo.multiply %721, %721 : tensor<32x64xf32>
    %875 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %876 = stablehlo.multiply %875, %874 : tensor<32x64xf32>
    %877 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %878 = stablehlo.multiply %877, %arg46 : tensor<32x64xf32>
    %879 = stablehlo.add %876, %878 : tensor<32x64xf32>
    %880 = stablehlo.multiply %726, %726 : tensor<64x32xf32>
    %881 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %882 = stablehlo.multiply %881, %880 : tensor<64x32xf32>
    %883 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %884 = stablehlo.multiply %883, %arg47 : tensor<64x32xf32>
    %885 = stablehlo.add %882, %884 : tensor<64x32xf32>
    %886 = stablehlo.multiply %729, %729 : tensor<64x32xf32>
    %887 = stablehlo.multiply %881, %886 : tensor<64x32xf32>
    %888 = stablehlo.multiply %883, %arg48 : tensor<64x32xf32>
    %889 = stablehlo.add %887, %888 : tensor<64x32xf32>
    %890 = stablehlo.multiply %734, %734 : tensor<64x1x8xf32>
    %891 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<64x1x8xf32>
    %892 = stablehlo.multiply %891, %890 : tensor<64x1x8xf32>
    %893 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<64x1x8xf32>
    %894 = stablehlo.multiply %893, %arg49 : tensor<64x1x8xf32>
    %895 = stablehlo.add %892, %894 : tensor<64x1x8xf32>
    %896 = stablehlo.multiply %739, %739 : tensor<2x8x64xf32>
    %897 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<2x8x64xf32>
    %898 = stablehlo.multiply %897, %896 : tensor<2x8x64xf32>
    %899 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<2x8x64xf32>
    %900 = stablehlo.multiply %899, %arg50 : tensor<2x8x64xf32>
    %901 = stablehlo.add %898, %900 : tensor<2x8x64xf32>
    %902 = stablehlo.multiply %744, %744 : tensor<64x2x8xf32>
    %903 = stablehlo.broadcast_in_dim %cst_23, dims = [] : (tensor<f32>) -> tensor<64x2x8xf32>
    %904 = stablehlo.multiply %903, %902 : tensor<64x2x8xf32>
    %905 = stablehlo.broadcast_in_dim %cst_24, dims = [] : (tensor<f32>) -> tensor<64x2x8xf32>
    %906 = stablehlo.multiply %905, %arg51 : tensor<64x2x8xf32>
    %907 = stablehlo.add %904, %906 : tensor<64x2x8xf32>
    %908 = stablehlo.multiply %747, %747 : tensor<64x1x8xf32>
    %909 = stablehlo.multiply %891, %908 : tensor<64x1x8xf32>
    %910 = stablehlo.multiply %893, %arg52 : tensor<64x1x8xf32>
    %911 = stablehlo.add %909, %910 : tensor<64x1x8xf32>
    %912 = stablehlo.multiply %750, %750 : tensor<64xf32>
    %913 = stablehlo.multiply %865, %912 : tensor<64xf32>
    %914 = stablehlo.multiply %867, %arg53 : tensor<64xf32>
    %915 = stablehlo.add %913, %914 : tensor<64xf32>
    %916 = stablehlo.multiply %753, %753 : tensor<64xf32>
    %917 = stablehlo.multiply %865, %916 : tensor<64xf32>
    %918 = stablehlo.multiply %867, %arg54 : tensor<64xf32>
    %919 = stablehlo.add %917, %918 : tensor<64xf32>
    %920 = stablehlo.multiply %756, %756 : tensor<32x64xf32>
    %921 = stablehlo.multiply %875, %920 : tensor<32x64xf32>
    %922 = stablehlo.multiply %877, %arg55 : tensor<32x64xf32>
    %923 = stablehlo.add %921, %922 : tensor<32x64xf32>
    %924 = stablehlo.multiply %759, %759 : tensor<64x32xf32>
    %925 = stablehlo.multiply %881, %924 : tensor<64x32xf32>
    %926 = stablehlo.multiply %883, %arg56 : tensor<64x32xf32>
    %927 = stablehlo.add %925, %926 : tensor<64x32xf32>
    %928 = stablehlo.multiply %762, %762 : tensor<64x32xf32>
    %929 = stablehlo.multiply %881, %928 : tensor<64x32xf32>
    %930 = stablehlo.multiply %883, %arg57 : tensor<64x32xf32>
    %931 = stablehlo.add %929, %930 : tensor<64x32xf32>
    %932 = stablehlo.multiply %765, %765 : tensor<64x1x8xf32>
    %933 = stablehlo.multiply %891, %932 : tensor<64x1x8xf32>
    %934 = stablehlo.multiply %893, %arg58 : tensor<64x1x8xf32>
    %935 = stablehlo.add %933, %934 : tensor<64x1x8xf32>
    %936 = stablehlo.multiply %768, %768 : tensor<2x8x64xf32>
    %937 = stablehlo.multiply %897, %936 : tensor<2x8x64xf32>
    %938 = stablehlo.multiply %899, %arg59 : tensor<2x8x64xf32>
    %939 = stablehlo.add %937, %938 : tensor<2x8x64xf32>
    %940 = stablehlo.multiply %771, %771 : tensor<64x2x8xf32>
    %941 = stablehlo.multiply %903, %940 : tensor<64x2x8xf32>
    %942 = stablehlo.multiply %905, %arg60 : tensor<64x2x8xf32>
    %943 = stablehlo.add %941, %942 : tensor<64x2x8xf32>
    %944 = stablehlo.multiply %774, %774 : tensor<64x1x8xf32>
    %945 = stablehlo.multiply %891, %944 : tensor<64x1x8xf32>
    %946 = stablehlo.multiply %893, %arg61 : tensor<64x1x8xf32>
    %947 = stablehlo.add %945, %946 : tensor<64x1x8xf32>
    %948 = stablehlo.multiply %777, %777 : tensor<64x64xf32>
    %949 = stablehlo.multiply %859, %948 : tensor<64x64xf32>
    %950 = stablehlo.multiply %861, %arg62 : tensor<64x64xf32>
    %951 = stablehlo.add %949, %950 : tensor<64x64xf32>
    %952 = stablehlo.multiply %780, %780 : tensor<64xf32>
    %953 = stablehlo.multiply %865, %952 : tensor<64xf32>
    %954 = stablehlo.multiply %867, %arg63 : tensor<64xf32>
    %955 = stablehlo.add %953, %954 : tensor<64xf32>
    %c_25 = stablehlo.constant dense<2147483647> : tensor<i32>
    %956 = stablehlo.compare LT, %arg21, %c_25, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_26 = stablehlo.constant dense<1> : tensor<i32>
    %957 = stablehlo.add %arg21, %c_26 : tensor<i32>
    %958 = stablehlo.select %956, %957, %c_25 : tensor<i1>, tensor<i32>
    %959 = stablehlo.convert %958 : (tensor<i32>) -> tensor<f32>
    %960 = stablehlo.power %cst_22, %959 : tensor<f32>
    %961 = stablehlo.subtract %cst_11, %960 : tensor<f32>
    %962 = stablehlo.broadcast_in_dim %961, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %963 = stablehlo.divide %785, %962 : tensor<64x64xf32>
    %964 = stablehlo.broadcast_in_dim %961, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %965 = stablehlo.divide %790, %964 : tensor<64xf32>
    %966 = stablehlo.divide %793, %964 : tensor<64xf32>
    %967 = stablehlo.broadcast_in_dim %961, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %968 = stablehlo.divide %798, %967 : tensor<32x64xf32>
    %969 = stablehlo.broadcast_in_dim %961, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %970 = stablehlo.divide %803, %969 : tensor<64x32xf32>
    %971 = stablehlo.divide %806, %969 : tensor<64x32xf32>
    %972 = stablehlo.broadcast_in_dim %961, dims = [] : (tensor<f32>) -> tensor<64x1x8xf32>
    %973 = stablehlo.divide %811, %972 : tensor<64x1x8xf32>
    %974 = stablehlo.broadcast_in_dim %961, dims = [] : (tensor<f32>) -> tensor<2x8x64xf32>
    %975 = stablehlo.divide %816, %974 : tensor<2x8x64xf32>
    %976 = stablehlo.broadcast_in_dim %961, dims = [] : (tensor<f32>) -> tensor<64x2x8xf32>
    %977 = stablehlo.divide %821, %976 : tensor<64x2x8xf32>
    %978 = stablehlo.divide %824, %972 : tensor<64x1x8xf32>
    %979 = stablehlo.divide %827, %964 : tensor<64xf32>
    %980 = stablehlo.divide %830, %964 : tensor<64xf32>
    %981 = stablehlo.divide %833, %967 : tensor<32x64xf32>
    %982 = stablehlo.divide %836, %969 : tensor<64x32xf32>
    %983 = stablehlo.divide %839, %969 : tensor<64x32xf32>
    %984 = stablehlo.divide %842, %972 : tensor<64x1x8xf32>
    %985 = stablehlo.divide %845, %974 : tensor<2x8x64xf32>
    %986 = stablehlo.divide %848, %976 : tensor<64x2x8xf32>
    %987 = stablehlo.divide %851, %972 : tensor<64x1x8xf32>
    %988 = stablehlo.divide %854, %962 : tensor<64x64xf32>
    %989 = stablehlo.divide %857, %964 : tensor<64xf32>
    %990 = stablehlo.power %cst_24, %959 : tensor<f32>
    %991 = stablehlo.subtract %cst_11, %990 : tensor<f32>
    %992 = stablehlo.broadcast_in_dim %991, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %993 = stablehlo.divide %863, %992 : tensor<64x64xf32>
    %994 = stablehlo.broadcast_in_dim %991, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %995 = stablehlo.divide %869, %994 : tensor<64xf32>
    %996 = stablehlo.divide %873, %994 : tensor<64xf32>
    %997 = stablehlo.broadcast_in_dim %991, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %998 = stablehlo.divide %879, %997 : tensor<32x64xf32>
    %999 = stablehlo.broadcast_in_dim %991, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %1000 = stablehlo.divide %885, %999 : tensor<64x32xf32>
    %1001 = stablehlo.divide %889, %999 : tensor<64x32xf32>
    %1002 = stablehlo.broadcast_in_dim %991, dims = [] : (tensor<f32>) -> tensor<64x1x8xf32>
    %1003 = stablehlo.divide %895, %1002 : tensor<64x1x8xf32>
    %1004 = stablehlo.broadcast_in_dim %991, dims = [] : (tensor<f32>) -> tensor<2x8x64xf32>
    %1005 = stablehlo.divide %901, %1004 : tensor<2x8x64xf32>
    %1006 = stablehlo.broadcast_in_dim %991, dims = [] : (tensor<f32>) -> tensor<64x2x8xf32>
    %1007 = stablehlo.divide %907, %1006 : tensor<64x2x8xf32>
    %1008 = stablehlo.divide %911, %1002 : tensor<64x1x8xf32>
    %1009 = stablehlo.divide %915, %994 : tensor<64xf32>
    %1010 = stablehlo.divide %919, %994 : tensor<64xf32>
    %1011 = stablehlo.divide %923, %997 : tensor<32x64xf32>
    %1012 = stablehlo.divide %927, %999 : tensor<64x32xf32>
    %1013 = stablehlo.divide %931, %999 : tensor<64x32xf32>
    %1014 = stablehlo.divide %935, %1002 : tensor<64x1x8xf32>
    %1015 = stablehlo.divide %939, %1004 : tensor<2x8x64xf32>
    %1016 = stablehlo.divide %943, %1006 : tensor<64x2x8xf32>
    %1017 = stablehlo.divide %947, %1002 : tensor<64x1x8xf32>
    %1018 = stablehlo.divide %951, %992 : tensor<64x64xf32>
    %1019 = stablehlo.divide %955, %994 : tensor<64xf32>
    %1020 = stablehlo.add %993, %599 : tensor<64x64xf32>
    %1021 = stablehlo.sqrt %1020 : tensor<64x64xf32>
    %cst_27 = stablehlo.constant dense<9.99999993E-9> : tensor<f32>
    %1022 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %1023 = stablehlo.add %1021, %1022 : tensor<64x64xf32>
    %1024 = stablehlo.divide %963, %1023 : tensor<64x64xf32>
    %1025 = stablehlo.add %995, %608 : tensor<64xf32>
    %1026 = stablehlo.sqrt %1025 : tensor<64xf32>
    %1027 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %1028 = stablehlo.add %1026, %1027 : tensor<64xf32>
    %1029 = stablehlo.divide %965, %1028 : tensor<64xf32>
    %1030 = stablehlo.add %996, %608 : tensor<64xf32>
    %1031 = stablehlo.sqrt %1030 : tensor<64xf32>
    %1032 = stablehlo.add %1031, %1027 : tensor<64xf32>
    %1033 = stablehlo.divide %966, %1032 : tensor<64xf32>
    %1034 = stablehlo.add %998, %614 : tensor<32x64xf32>
    %1035 = stablehlo.sqrt %1034 : tensor<32x64xf32>
    %1036 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %1037 = stablehlo.add %1035, %1036 : tensor<32x64xf32>
    %1038 = stablehlo.divide %968, %1037 : tensor<32x64xf32>
    %1039 = stablehlo.add %1000, %618 : tensor<64x32xf32>
    %1040 = stablehlo.sqrt %1039 : tensor<64x32xf32>
    %1041 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %1042 = stablehlo.add %1040, %1041 : tensor<64x32xf32>
    %1043 = stablehlo.divide %970, %1042 : tensor<64x32xf32>
    %1044 = stablehlo.add %1001, %618 : tensor<64x32xf32>
    %1045 = stablehlo.sqrt %1044 : tensor<64x32xf32>
    %1046 = stablehlo.add %1045, %1041 : tensor<64x32xf32>
    %1047 = stablehlo.divide %971, %1046 : tensor<64x32xf32>
    %1048 = stablehlo.add %1003, %624 : tensor<64x1x8xf32>
    %1049 = stablehlo.sqrt %1048 : tensor<64x1x8xf32>
    %1050 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<64x1x8xf32>
    %1051 = stablehlo.add %1049, %1050 : tensor<64x1x8xf32>
    %1052 = stablehlo.divide %973, %1051 : tensor<64x1x8xf32>
    %1053 = stablehlo.add %1005, %628 : tensor<2x8x64xf32>
    %1054 = stablehlo.sqrt %1053 : tensor<2x8x64xf32>
    %1055 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<2x8x64xf32>
    %1056 = stablehlo.add %1054, %1055 : tensor<2x8x64xf32>
    %1057 = stablehlo.divide %975, %1056 : tensor<2x8x64xf32>
    %1058 = stablehlo.add %1007, %632 : tensor<64x2x8xf32>
    %1059 = stablehlo.sqrt %1058 : tensor<64x2x8xf32>
    %1060 = stablehlo.broadcast_in_dim %cst_27, dims = [] : (tensor<f32>) -> tensor<64x2x8xf32>
    %1061 = stablehlo.add %1059, %1060 : tensor<64x2x8xf32>
    %1062 = stablehlo.divide %977, %1061 : tensor<64x2x8xf32>
    %1063 = stablehlo.add %1008, %624 : tensor<64x1x8xf32>
    %1064 = stablehlo.sqrt %1063 : tensor<64x1x8xf32>
    %1065 = stablehlo.add %1064, %1050 : tensor<64x1x8xf32>
    %1066 = stablehlo.divide %978, %1065 : tensor<64x1x8xf32>
    %1067 = stablehlo.add %1009, %608 : tensor<64xf32>
    %1068 = stablehlo.sqrt %1067 : tensor<64xf32>
    %1069 = stablehlo.add %1068, %1027 : tensor<64xf32>
    %1070 = stablehlo.divide %979, %1069 : tensor<64xf32>
    %1071 = stablehlo.add %1010, %608 : tensor<64xf32>
    %1072 = stablehlo.sqrt %1071 : tensor<64xf32>
    %1073 = stablehlo.add %1072, %1027 : tensor<64xf32>
    %1074 = stablehlo.divide %980, %1073 : tensor<64xf32>
    %1075 = stablehlo.add %1011, %614 : tensor<32x64xf32>
    %1076 = stablehlo.sqrt %1075 : tensor<32x64xf32>
    %1077 = stablehlo.add %1076, %1036 : tensor<32x64xf32>
    %1078 = stablehlo.divide %981, %1077 : tensor<32x64xf32>
    %1079 = stablehlo.add %1012, %618 : tensor<64x32xf32>
    %1080 = stablehlo.sqrt %1079 : tensor<64x32xf32>
    %1081 = stablehlo.add %1080, %1041 : tensor<64x32xf32>
    %1082 = stablehlo.divide %982, %1081 : tensor<64x32xf32>
    %1083 = stablehlo.add %1013, %618 : tensor<64x32xf32>
    %1084 = stablehlo.sqrt %1083 : tensor<64x32xf32>
    %1085 = stablehlo.add %1084, %1041 : tensor<64x32xf32>
    %1086 = stablehlo.divide %983, %1085 : tensor<64x32xf32>
    %1087 = stablehlo.add %1014, %624 : tensor<64x1x8xf32>
    %1088 = stablehlo.sqrt %1087 : tensor<64x1x8xf32>
    %1089 = stablehlo.add %1088, %1050 : tensor<64x1x8xf32>
    %1090 = stablehlo.divide %984, %1089 : tensor<64x1x8xf32>
    %1091 = stablehlo.add %1015, %628 : tensor<2x8x64xf32>
    %1092 = stablehlo.sqrt %1091 : tensor<2x8x64xf32>
    %1093 = stablehlo.add %1092, %1055 : tensor<2x8x64xf32>
    %1094 = stablehlo.divide %985, %1093 : tensor<2x8x64xf32>
    %1095 = stablehlo.add %1016, %632 : tensor<64x2x8xf32>
    %1096 = stablehlo.sqrt %1095 : tensor<64x2x8xf32>
    %1097 = stablehlo.add %1096, %1060 : tensor<64x2x8xf32>
    %1098 = stablehlo.divide %986, %1097 : tensor<64x2x8xf32>
    %1099 = stablehlo.add %1017, %624 : tensor<64x1x8xf32>
    %1100 = stablehlo.sqrt %1099 : tensor<64x1x8xf32>
    %1101 = stablehlo.add %1100, %1050 : tensor<64x1x8xf32>
    %1102 = stablehlo.divide %987, %1101 : tensor<64x1x8xf32>
    %1103 = stablehlo.add %1018, %599 : tensor<64x64xf32>
    %1104 = stablehlo.sqrt %1103 : tensor<64x64xf32>
    %1105 = stablehlo.add %1104, %1022 : tensor<64x64xf32>
    %1106 = stablehlo.divide %988, %1105 : tensor<64x64xf32>
    %1107 = stablehlo.add %1019, %608 : tensor<64xf32>
    %1108 = stablehlo.sqrt %1107 : tensor<64xf32>
    %1109 = stablehlo.add %1108, %1027 : tensor<64xf32>
    %1110 = stablehlo.divide %989, %1109 : tensor<64xf32>
    %1111 = stablehlo.multiply %781, %arg0 : tensor<64x64xf32>
    %1112 = stablehlo.add %1024, %1111 : tensor<64x64xf32>
    %1113 = stablehlo.multiply %786, %arg1 : tensor<64xf32>
    %1114 = stablehlo.add %1029, %1113 : tensor<64xf32>
    %1115 = stablehlo.multiply %786, %arg2 : tensor<64xf32>
    %1116 = stablehlo.add %1033, %1115 : tensor<64xf32>
    %1117 = stablehlo.multiply %794, %arg3 : tensor<32x64xf32>
    %1118 = stablehlo.add %1038, %1117 : tensor<32x64xf32>
    %1119 = stablehlo.multiply %799, %arg4 : tensor<64x32xf32>
    %1120 = stablehlo.add %1043, %1119 : tensor<64x32xf32>
    %1121 = stablehlo.multiply %799, %arg5 : tensor<64x32xf32>
    %1122 = stablehlo.add %1047, %1121 : tensor<64x32xf32>
    %1123 = stablehlo.multiply %807, %arg6 : tensor<64x1x8xf32>
    %1124 = stablehlo.add %1052, %1123 : tensor<64x1x8xf32>
    %1125 = stablehlo.multiply %812, %arg7 : tensor<2x8x64xf32>
    %1126 = stablehlo.add %1057, %1125 : tensor<2x8x64xf32>
    %1127 = stablehlo.multiply %817, %arg8 : tensor<64x2x8xf32>
    %1128 = stablehlo.add %1062, %1127 : tensor<64x2x8xf32>
    %1129 = stablehlo.multiply %807, %arg9 : tensor<64x1x8xf32>
    %1130 = stablehlo.add %1066, %1129 : tensor<64x1x8xf32>
    %1131 = stablehlo.multiply %786, %arg10 : tensor<64xf32>
    %1132 = stablehlo.add %1070, %1131 : tensor<64xf32>
    %1133 = stablehlo.multiply %786, %arg11 : tensor<64xf32>
    %1134 = stablehlo.add %1074, %1133 : tensor<64xf32>
    %1135 = stablehlo.multiply %794, %arg12 : tensor<32x64xf32>
    %1136 = stablehlo.add %1078, %1135 : tensor<32x64xf32>
    %1137 = stablehlo.multiply %799, %arg13 : tensor<64x32xf32>
    %1138 = stablehlo.add %1082, %1137 : tensor<64x32xf32>
    %1139 = stablehlo.multiply %799, %arg14 : tensor<64x32xf32>
    %1140 = stablehlo.add %1086, %1139 : tensor<64x32xf32>
    %1141 = stablehlo.multiply %807, %arg15 : tensor<64x1x8xf32>
    %1142 = stablehlo.add %1090, %1141 : tensor<64x1x8xf32>
    %1143 = stablehlo.multiply %812, %arg16 : tensor<2x8x64xf32>
    %1144 = stablehlo.add %1094, %1143 : tensor<2x8x64xf32>
    %1145 = stablehlo.multiply %817, %arg17 : tensor<64x2x8xf32>
    %1146 = stablehlo.add %1098, %1145 : tensor<64x2x8xf32>
    %1147 = stablehlo.multiply %807, %arg18 : tensor<64x1x8xf32>
    %1148 = stablehlo.add %1102, %1147 : tensor<64x1x8xf32>
    %1149 = stablehlo.multiply %781, %arg19 : tensor<64x64xf32>
    %1150 = stablehlo.add %1106, %1149 : tensor<64x64xf32>
    %1151 = stablehlo.multiply %786, %arg20 : tensor<64xf32>
    %1152 = stablehlo.add %1110, %1151 : tensor<64xf32>
    %cst_28 = stablehlo.constant dense<-3.000000e-04> : tensor<f32>
    %1153 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %1154 = stablehlo.multiply %1153, %1112 : tensor<64x64xf32>
    %1155 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %1156 = stablehlo.multiply %1155, %1114 : tensor<64xf32>
    %1157 = stablehlo.multiply %1155, %1116 : tensor<64xf32>
    %1158 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<32x64xf32>
    %1159 = stablehlo.multiply %1158, %1118 : tensor<32x64xf32>
    %1160 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<64x32xf32>
    %1161 = stablehlo.multiply %1160, %1120 : tensor<64x32xf32>
    %1162 = stablehlo.multiply %1160, %1122 : tensor<64x32xf32>
    %1163 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<64x1x8xf32>
    %1164 = stablehlo.multiply %1163, %1124 : tensor<64x1x8xf32>
    %1165 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<2x8x64xf32>
    %1166 = stablehlo.multiply %1165, %1126 : tensor<2x8x64xf32>
    %1167 = stablehlo.broadcast_in_dim %cst_28, dims = [] : (tensor<f32>) -> tensor<64x2x8xf32>
    %1168 = stablehlo.multiply %1167, %1128 : tensor<64x2x8xf32>
    %1169 = stablehlo.multiply %1163, %1130 : tensor<64x1x8xf32>
    %1170 = stablehlo.multiply %1155, %1132 : tensor<64xf32>
    %1171 = stablehlo.multiply %1155, %1134 : tensor<64xf32>
    %1172 = stablehlo.multiply %1158, %1136 : tensor<32x64xf32>
    %1173 = stablehlo.multiply %1160, %1138 : tensor<64x32xf32>
    %1174 = stablehlo.multiply %1160, %1140 : tensor<64x32xf32>
    %1175 = stablehlo.multiply %1163, %1142 : tensor<64x1x8xf32>
    %1176 = stablehlo.multiply %1165, %1144 : tensor<2x8x64xf32>
    %1177 = stablehlo.multiply %1167, %1146 : tensor<64x2x8xf32>
    %1178 = stablehlo.multiply %1163, %1148 : tensor<64x1x8xf32>
    %1179 = stablehlo.multiply %1153, %1150 : tensor<64x64xf32>
    %1180 = stablehlo.multiply %1155, %1152 : tensor<64xf32>
    %1181 = stablehlo.add %arg0, %1154 : tensor<64x64xf32>
    %1182 = stablehlo.add %arg1, %1156 : tensor<64xf32>
    %1183 = stablehlo.add %arg2, %1157 : tensor<64xf32>
    %1184 = stablehlo.add %arg3, %1159 : tensor<32x64xf32>
    %1185 = stablehlo.add %arg4, %1161 : tensor<64x32xf32>
    %1186 = stablehlo.add %arg5, %1162 : tensor<64x32xf32>
    %1187 = stablehlo.add %arg6, %1164 : tensor<64x1x8xf32>
    %1188 = stablehlo.add %arg7, %1166 : tensor<2x8x64xf32>
    %1189 = stablehlo.add %arg8, %1168 : tensor<64x2x8xf32>
    %1190 = stablehlo.add %arg9, %1169 : tensor<64x1x8xf32>
    %1191 = stablehlo.add %arg10, %1170 : tensor<64xf32>
    %1192 = stablehlo.add %arg11, %1171 : tensor<64xf32>
    %1193 = stablehlo.add %arg12, %1172 : tensor<32x64xf32>
    %1194 = stablehlo.add %arg13, %1173 : tensor<64x32xf32>
    %1195 = stablehlo.add %arg14, %1174 : tensor<64x32xf32>
    %1196 = stablehlo.add %arg15, %1175 : tensor<64x1x8xf32>
    %1197 = stablehlo.add %arg16, %1176 : tensor<2x8x64xf32>
    %1198 = stablehlo.add %arg17, %1177 : tensor<64x2x8xf32>
    %1199 = stablehlo.add %arg18, %1178 : tensor<64x1x8xf32>
    %1200 = stablehlo.add %arg19, %1179 : tensor<64x64xf32>
    %1201 = stablehlo.add %arg20, %1180 : tensor<64xf32>
    return %1181, %1182, %1183, %1184, %1185, %1186, %1187, %1188, %1189, %1190, %1191, %1192, %1193, %1194, %1195, %1196, %1197, %1198, %1199, %1200, %1201, %958, %785, %790, %793, %798, %803, %806, %811, %816, %821, %824, %827, %830, %833, %836, %839, %842, %845, %848, %851, %854, %857, %863, %869, %873, %879, %885, %889, %895, %901, %907, %911, %915, %919, %923, %927, %931, %935, %939, %943, %947, %951, %955, %542 : tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x1x8xf32>, tensor<2x8x64xf32>, tensor<64x2x8xf32>, tensor<64x1x8xf32>, tensor<64xf32>, tensor<64xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x1x8xf32>, tensor<2x8x64xf32>, tensor<64x2x8xf32>, tensor<64x1x8xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<i32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x1x8xf32>, tensor<2x8x64xf32>, tensor<64x2x8xf32>, tensor<64x1x8xf32>, tensor<64xf32>, tensor<64xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x1x8xf32>, tensor<2x8x64xf32>, tensor<64x2x8xf32>, tensor<64x1x8xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x1x8xf32>, tensor<2x8x64xf32>, tensor<64x2x8xf32>, tensor<64x1x8xf32>, tensor<64xf32>, tensor<64xf32>, tensor<32x64xf32>, tensor<64x32xf32>, tensor<64x32xf32>, tensor<64x1x8xf32>, tensor<2x8x64xf32>, tensor<64x2x8xf32>, tensor<64x1x8xf32>, tensor<64x64xf32>, tensor<64xf32>, tensor<f32>
  }
}
