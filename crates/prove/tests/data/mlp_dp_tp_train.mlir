module @jit_train_step attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 8 : i32} {
  func.func public @main(%arg0: tensor<64xf32> {tf.aliasing_output = 0 : i32}, %arg1: tensor<64x64xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<256xf32> {tf.aliasing_output = 2 : i32}, %arg3: tensor<64x256xf32> {tf.aliasing_output = 3 : i32}, %arg4: tensor<8xf32> {tf.aliasing_output = 4 : i32}, %arg5: tensor<256x8xf32> {tf.aliasing_output = 5 : i32}, %arg6: tensor<64xf32> {tf.aliasing_output = 6 : i32}, %arg7: tensor<64x64xf32> {tf.aliasing_output = 7 : i32}, %arg8: tensor<256xf32> {tf.aliasing_output = 8 : i32}, %arg9: tensor<64x256xf32> {tf.aliasing_output = 9 : i32}, %arg10: tensor<8xf32> {tf.aliasing_output = 10 : i32}, %arg11: tensor<256x8xf32> {tf.aliasing_output = 11 : i32}, %arg12: tensor<16x64xf32>, %arg13: tensor<16xi32>) -> (tensor<64xf32> {jax.result_info = "result[0]['layer0']['b']"}, tensor<64x64xf32> {jax.result_info = "result[0]['layer0']['w']"}, tensor<256xf32> {jax.result_info = "result[0]['layer1']['b']"}, tensor<64x256xf32> {jax.result_info = "result[0]['layer1']['w']"}, tensor<8xf32> {jax.result_info = "result[0]['layer2']['b']"}, tensor<256x8xf32> {jax.result_info = "result[0]['layer2']['w']"}, tensor<64xf32> {jax.result_info = "result[1][0].trace['layer0']['b']"}, tensor<64x64xf32> {jax.result_info = "result[1][0].trace['layer0']['w']"}, tensor<256xf32> {jax.result_info = "result[1][0].trace['layer1']['b']"}, tensor<64x256xf32> {jax.result_info = "result[1][0].trace['layer1']['w']"}, tensor<8xf32> {jax.result_info = "result[1][0].trace['layer2']['b']"}, tensor<256x8xf32> {jax.result_info = "result[1][0].trace['layer2']['w']"}, tensor<f32> {jax.result_info = "result[2]"}) {
    %0 = stablehlo.dot_general %arg12, %arg1, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<64x64xf32>) -> tensor<16x64xf32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [1] : (tensor<64xf32>) -> tensor<1x64xf32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [0, 1] : (tensor<1x64xf32>) -> tensor<16x64xf32>
    %3 = stablehlo.add %0, %2 : tensor<16x64xf32>
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %4 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x64xf32>
    %5 = stablehlo.maximum %3, %4 : tensor<16x64xf32>
    %6 = stablehlo.compare GT, %3, %4, FLOAT : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xi1>
    %7 = stablehlo.dot_general %5, %arg3, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<64x256xf32>) -> tensor<16x256xf32>
    %8 = stablehlo.broadcast_in_dim %arg2, dims = [1] : (tensor<256xf32>) -> tensor<1x256xf32>
    %9 = stablehlo.broadcast_in_dim %8, dims = [0, 1] : (tensor<1x256xf32>) -> tensor<16x256xf32>
    %cst_0 = stablehlo.constant dense<3.200000e+01> : tensor<f32>
    %cst_1 = stablehlo.constant dense<1.000000e+00> : tensor<f32>
    %10 = stablehlo.negate %cst_1 : tensor<f32>
    %11 = stablehlo.divide %10, %cst_0 : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %11, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %13 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x8xf32>
    %14 = stablehlo.broadcast_in_dim %arg13, dims = [0] : (tensor<16xi32>) -> tensor<16x1xi32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %15 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x1xi32>
    %16 = stablehlo.compare LT, %14, %15, SIGNED : (tensor<16x1xi32>, tensor<16x1xi32>) -> tensor<16x1xi1>
    %c_2 = stablehlo.constant dense<32> : tensor<i32>
    %17 = stablehlo.broadcast_in_dim %c_2, dims = [] : (tensor<i32>) -> tensor<16x1xi32>
    %18 = stablehlo.add %14, %17 : tensor<16x1xi32>
    %19 = stablehlo.select %16, %18, %14 : tensor<16x1xi1>, tensor<16x1xi32>
    %20 = stablehlo.reshape %19 : (tensor<16x1xi32>) -> tensor<16x1x1xi32>
    %21 = stablehlo.replica_id : tensor<ui32>
    %22 = stablehlo.convert %21 : (tensor<ui32>) -> tensor<i32>
    %c_3 = stablehlo.constant dense<4> : tensor<i32>
    %23 = stablehlo.remainder %22, %c_3 : tensor<i32>
    %c_4 = stablehlo.constant dense<8> : tensor<i32>
    %24 = stablehlo.multiply %23, %c_4 : tensor<i32>
    %25 = stablehlo.broadcast_in_dim %24, dims = [] : (tensor<i32>) -> tensor<16x1x1xi32>
    %26 = stablehlo.subtract %20, %25 : tensor<16x1x1xi32>
    %27 = "stablehlo.scatter"(%13, %26, %12) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], index_vector_dim = 2>, unique_indices = false}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %140 = stablehlo.add %arg14, %arg15 : tensor<f32>
      stablehlo.return %140 : tensor<f32>
    }) : (tensor<16x8xf32>, tensor<16x1x1xi32>, tensor<16x1xf32>) -> tensor<16x8xf32>
    %28 = stablehlo.negate %27 : tensor<16x8xf32>
    %29 = stablehlo.reduce(%28 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<16xf32>
    %30:2 = "stablehlo.all_reduce"(%7, %29) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %140 = stablehlo.add %arg14, %arg15 : tensor<f32>
      stablehlo.return %140 : tensor<f32>
    }) : (tensor<16x256xf32>, tensor<16xf32>) -> (tensor<16x256xf32>, tensor<16xf32>)
    %31 = stablehlo.add %30#0, %9 : tensor<16x256xf32>
    %32 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x256xf32>
    %33 = stablehlo.maximum %31, %32 : tensor<16x256xf32>
    %34 = stablehlo.compare GT, %31, %32, FLOAT : (tensor<16x256xf32>, tensor<16x256xf32>) -> tensor<16x256xi1>
    %35 = stablehlo.dot_general %33, %arg5, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256xf32>, tensor<256x8xf32>) -> tensor<16x8xf32>
    %36 = stablehlo.broadcast_in_dim %arg4, dims = [1] : (tensor<8xf32>) -> tensor<1x8xf32>
    %37 = stablehlo.broadcast_in_dim %36, dims = [0, 1] : (tensor<1x8xf32>) -> tensor<16x8xf32>
    %38 = stablehlo.add %35, %37 : tensor<16x8xf32>
    %cst_5 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %39 = stablehlo.reduce(%38 init: %cst_5) applies stablehlo.maximum across dimensions = [1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<16xf32>
    %40 = "stablehlo.all_reduce"(%39) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %140 = stablehlo.maximum %arg14, %arg15 : tensor<f32>
      stablehlo.return %140 : tensor<f32>
    }) : (tensor<16xf32>) -> tensor<16xf32>
    %41 = stablehlo.broadcast_in_dim %cst_5, dims = [] : (tensor<f32>) -> tensor<16xf32>
    %42 = stablehlo.maximum %41, %40 : tensor<16xf32>
    %43 = stablehlo.broadcast_in_dim %42, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %44 = stablehlo.broadcast_in_dim %43, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x8xf32>
    %45 = stablehlo.subtract %38, %44 : tensor<16x8xf32>
    %46 = stablehlo.exponential %45 : tensor<16x8xf32>
    %47 = stablehlo.reduce(%46 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<16x8xf32>, tensor<f32>) -> tensor<16xf32>
    %48 = "stablehlo.all_reduce"(%47) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %140 = stablehlo.add %arg14, %arg15 : tensor<f32>
      stablehlo.return %140 : tensor<f32>
    }) : (tensor<16xf32>) -> tensor<16xf32>
    %49 = stablehlo.broadcast_in_dim %48, dims = [0] : (tensor<16xf32>) -> tensor<16x1xf32>
    %50 = stablehlo.log %49 : tensor<16x1xf32>
    %51 = stablehlo.broadcast_in_dim %50, dims = [0, 1] : (tensor<16x1xf32>) -> tensor<16x8xf32>
    %52 = stablehlo.subtract %45, %51 : tensor<16x8xf32>
    %c_6 = stablehlo.constant dense<31> : tensor<1xi32>
    %53 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<16x1x1xi32>
    %54 = stablehlo.compare GE, %20, %53, SIGNED : (tensor<16x1x1xi32>, tensor<16x1x1xi32>) -> tensor<16x1x1xi1>
    %55 = stablehlo.broadcast_in_dim %c_6, dims = [2] : (tensor<1xi32>) -> tensor<1x1x1xi32>
    %56 = stablehlo.broadcast_in_dim %55, dims = [0, 1, 2] : (tensor<1x1x1xi32>) -> tensor<16x1x1xi32>
    %57 = stablehlo.compare LE, %20, %56, SIGNED : (tensor<16x1x1xi32>, tensor<16x1x1xi32>) -> tensor<16x1x1xi1>
    %58 = stablehlo.and %54, %57 : tensor<16x1x1xi1>
    %c_7 = stablehlo.constant dense<true> : tensor<i1>
    %59 = stablehlo.reduce(%58 init: %c_7) applies stablehlo.and across dimensions = [2] : (tensor<16x1x1xi1>, tensor<i1>) -> tensor<16x1xi1>
    %c_8 = stablehlo.constant dense<31> : tensor<i32>
    %60 = stablehlo.broadcast_in_dim %c_8, dims = [] : (tensor<i32>) -> tensor<16x1x1xi32>
    %61 = stablehlo.clamp %53, %20, %60 : tensor<16x1x1xi32>
    %62 = stablehlo.subtract %61, %25 : tensor<16x1x1xi32>
    %63 = stablehlo.broadcast_in_dim %c_4, dims = [] : (tensor<i32>) -> tensor<16x1x1xi32>
    %64 = stablehlo.compare GE, %62, %53, SIGNED : (tensor<16x1x1xi32>, tensor<16x1x1xi32>) -> tensor<16x1x1xi1>
    %65 = stablehlo.compare LT, %62, %63, SIGNED : (tensor<16x1x1xi32>, tensor<16x1x1xi32>) -> tensor<16x1x1xi1>
    %66 = stablehlo.and %64, %65 : tensor<16x1x1xi1>
    %67 = stablehlo.reshape %66 : (tensor<16x1x1xi1>) -> tensor<16x1xi1>
    %68 = "stablehlo.gather"(%52, %62) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [0], start_index_map = [1], index_vector_dim = 2>, indices_are_sorted = false, slice_sizes = array<i64: 1, 1>}> : (tensor<16x8xf32>, tensor<16x1x1xi32>) -> tensor<16x1xf32>
    %69 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %70 = stablehlo.broadcast_in_dim %67, dims = [0, 1] : (tensor<16x1xi1>) -> tensor<16x1xi1>
    %71 = stablehlo.select %70, %68, %69 : tensor<16x1xi1>, tensor<16x1xf32>
    %cst_9 = stablehlo.constant dense<0x7FC00000> : tensor<f32>
    %72 = stablehlo.broadcast_in_dim %cst_9, dims = [] : (tensor<f32>) -> tensor<16x1xf32>
    %73 = stablehlo.reshape %30#1 : (tensor<16xf32>) -> tensor<16x1xf32>
    %74 = stablehlo.divide %73, %49 : tensor<16x1xf32>
    %75 = stablehlo.reduce(%74 init: %cst) applies stablehlo.add across dimensions = [1] : (tensor<16x1xf32>, tensor<f32>) -> tensor<16xf32>
    %76 = stablehlo.broadcast_in_dim %75, dims = [0] : (tensor<16xf32>) -> tensor<16x8xf32>
    %77 = stablehlo.multiply %76, %46 : tensor<16x8xf32>
    %78 = stablehlo.add %27, %77 : tensor<16x8xf32>
    %79 = stablehlo.dot_general %78, %arg5, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<256x8xf32>) -> tensor<16x256xf32>
    %80:2 = "stablehlo.all_reduce"(%71, %79) <{replica_groups = dense<[[0, 1, 2, 3], [4, 5, 6, 7]]> : tensor<2x4xi64>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %140 = stablehlo.add %arg14, %arg15 : tensor<f32>
      stablehlo.return %140 : tensor<f32>
    }) : (tensor<16x1xf32>, tensor<16x256xf32>) -> (tensor<16x1xf32>, tensor<16x256xf32>)
    %81 = stablehlo.select %59, %80#0, %72 : tensor<16x1xi1>, tensor<16x1xf32>
    %82 = stablehlo.reduce(%81 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<16x1xf32>, tensor<f32>) -> tensor<f32>
    %83 = stablehlo.reduce(%78 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
    %84 = stablehlo.dot_general %78, %33, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x8xf32>, tensor<16x256xf32>) -> tensor<8x256xf32>
    %85 = stablehlo.transpose %84, dims = [1, 0] : (tensor<8x256xf32>) -> tensor<256x8xf32>
    %86 = stablehlo.select %34, %80#1, %32 : tensor<16x256xi1>, tensor<16x256xf32>
    %87 = stablehlo.reduce(%86 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<16x256xf32>, tensor<f32>) -> tensor<256xf32>
    %88 = stablehlo.dot_general %86, %5, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x256xf32>, tensor<16x64xf32>) -> tensor<256x64xf32>
    %89 = stablehlo.transpose %88, dims = [1, 0] : (tensor<256x64xf32>) -> tensor<64x256xf32>
    %90 = stablehlo.dot_general %86, %arg3, contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<16x256xf32>, tensor<64x256xf32>) -> tensor<16x64xf32>
    %91 = stablehlo.select %6, %90, %4 : tensor<16x64xi1>, tensor<16x64xf32>
    %92 = stablehlo.reduce(%91 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<16x64xf32>, tensor<f32>) -> tensor<64xf32>
    %93 = stablehlo.dot_general %91, %arg12, contracting_dims = [0] x [0], precision = [DEFAULT, DEFAULT] : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<64x64xf32>
    %94 = stablehlo.transpose %93, dims = [1, 0] : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %95:7 = "stablehlo.all_reduce"(%82, %83, %85, %87, %89, %92, %94) <{replica_groups = dense<[[0, 4], [1, 5], [2, 6], [3, 7]]> : tensor<4x2xi64>}> ({
    ^bb0(%arg14: tensor<f32>, %arg15: tensor<f32>):
      %140 = stablehlo.add %arg14, %arg15 : tensor<f32>
      stablehlo.return %140 : tensor<f32>
    }) : (tensor<f32>, tensor<8xf32>, tensor<256x8xf32>, tensor<256xf32>, tensor<64x256xf32>, tensor<64xf32>, tensor<64x64xf32>) -> (tensor<f32>, tensor<8xf32>, tensor<256x8xf32>, tensor<256xf32>, tensor<64x256xf32>, tensor<64xf32>, tensor<64x64xf32>)
    %96 = stablehlo.divide %95#0, %cst_0 : tensor<f32>
    %97 = stablehlo.negate %96 : tensor<f32>
    %98 = stablehlo.reshape %95#1 : (tensor<8xf32>) -> tensor<1x8xf32>
    %99 = stablehlo.reduce(%98 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<1x8xf32>, tensor<f32>) -> tensor<8xf32>
    %100 = stablehlo.reshape %95#3 : (tensor<256xf32>) -> tensor<1x256xf32>
    %101 = stablehlo.reduce(%100 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<1x256xf32>, tensor<f32>) -> tensor<256xf32>
    %102 = stablehlo.reshape %95#5 : (tensor<64xf32>) -> tensor<1x64xf32>
    %103 = stablehlo.reduce(%102 init: %cst) applies stablehlo.add across dimensions = [0] : (tensor<1x64xf32>, tensor<f32>) -> tensor<64xf32>
    %cst_10 = stablehlo.constant dense<0.899999976> : tensor<f32>
    %104 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %105 = stablehlo.multiply %104, %arg6 : tensor<64xf32>
    %106 = stablehlo.add %103, %105 : tensor<64xf32>
    %107 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %108 = stablehlo.multiply %107, %arg7 : tensor<64x64xf32>
    %109 = stablehlo.add %95#6, %108 : tensor<64x64xf32>
    %110 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %111 = stablehlo.multiply %110, %arg8 : tensor<256xf32>
    %112 = stablehlo.add %101, %111 : tensor<256xf32>
    %113 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %114 = stablehlo.multiply %113, %arg9 : tensor<64x256xf32>
    %115 = stablehlo.add %95#4, %114 : tensor<64x256xf32>
    %116 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %117 = stablehlo.multiply %116, %arg10 : tensor<8xf32>
    %118 = stablehlo.add %99, %117 : tensor<8xf32>
    %119 = stablehlo.broadcast_in_dim %cst_10, dims = [] : (tensor<f32>) -> tensor<256x8xf32>
    %120 = stablehlo.multiply %119, %arg11 : tensor<256x8xf32>
    %121 = stablehlo.add %95#2, %120 : tensor<256x8xf32>
    %cst_11 = stablehlo.constant dense<-1.000000e-01> : tensor<f32>
    %122 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<64xf32>
    %123 = stablehlo.multiply %122, %106 : tensor<64xf32>
    %124 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<64x64xf32>
    %125 = stablehlo.multiply %124, %109 : tensor<64x64xf32>
    %126 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<256xf32>
    %127 = stablehlo.multiply %126, %112 : tensor<256xf32>
    %128 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<64x256xf32>
    %129 = stablehlo.multiply %128, %115 : tensor<64x256xf32>
    %130 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<8xf32>
    %131 = stablehlo.multiply %130, %118 : tensor<8xf32>
    %132 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<256x8xf32>
    %133 = stablehlo.multiply %132, %121 : tensor<256x8xf32>
    %134 = stablehlo.add %arg0, %123 : tensor<64xf32>
    %135 = stablehlo.add %arg1, %125 : tensor<64x64xf32>
    %136 = stablehlo.add %arg2, %127 : tensor<256xf32>
    %137 = stablehlo.add %arg3, %129 : tensor<64x256xf32>
    %138 = stablehlo.add %arg4, %131 : tensor<8xf32>
    %139 = stablehlo.add %arg5, %133 : tensor<256x8xf32>
    return %134, %135, %136, %137, %138, %139, %106, %109, %112, %115, %118, %121, %97 : tensor<64xf32>, tensor<64x64xf32>, tensor<256xf32>, tensor<64x256xf32>, tensor<8xf32>, tensor<256x8xf32>, tensor<64xf32>, tensor<64x64xf32>, tensor<256xf32>, tensor<64x256xf32>, tensor<8xf32>, tensor<256x8xf32>, tensor<f32>
  }
}
