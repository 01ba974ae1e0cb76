module @kept {
  sdy.mesh @mesh = <["a"=2, "b"=2]>
  func.func @dialects(%arg0: tensor<8x4xf32>, %arg1: tensor<4x2xf32>, %arg2: tensor<4xf32>, %arg3: tensor<2xi32>) -> tensor<8x2xf32> {
    %0 = stablehlo.dot %arg0, %arg1 : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
    %1 = stablehlo.dot %arg0, %arg2, precision = [HIGH, DEFAULT] : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8xf32>
    %2 = sdy.constant dense<1.000000e+00> : tensor<8x2xf32>
    %3 = sdy.constant {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"a"}]>]>} dense<[1, 2]> : tensor<2xi32>
    %4 = sdy.data_flow_edge %0 sharding=<@mesh, [{"a"}, {}]> : tensor<8x2xf32>
    %5 = sdy.data_flow_edge %1 : tensor<8xf32>
    %6 = call @impl2(%4) : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %7 = sdy.func_data_flow_edge %6 : tensor<8x2xf32>
    %8 = sdy.named_computation<"foo">(%7) in_shardings=[<@mesh, [{"b"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}]>] (%arg4: tensor<8x2xf32>) {
      %20 = stablehlo.add %arg4, %arg4 : tensor<8x2xf32>
      sdy.return %20 : tensor<8x2xf32>
    } {random = 1 : i64} : (tensor<8x2xf32>) -> tensor<8x2xf32>
    %9 = stablehlo.dynamic_iota %arg3, dim = 0 : (tensor<2xi32>) -> tensor<?x?xi64>
    %10 = stablehlo.dynamic_broadcast_in_dim %arg2, %arg3, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %11 = stablehlo.dynamic_reshape %arg0, %arg3 : (tensor<8x4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
    %12 = stablehlo.get_dimension_size %11, dim = 1 : (tensor<?x?xf32>) -> tensor<i32>
    %13 = stablehlo.broadcast %arg2, sizes = [2, 3] : (tensor<4xf32>) -> tensor<2x3x4xf32>
    %14 = chlo.broadcast_add %arg0, %arg2 {broadcast_dimensions = array<i64: 1>} : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
    %15 = stablehlo.create_token : !stablehlo.token
    %16 = stablehlo.composite "my.op" %arg0 {composite_attributes = {n = 1 : i64}, decomposition = @impl, version = 2 : i32} : (tensor<8x4xf32>) -> tensor<8x4xf32>
    %17 = stablehlo.set_dimension_size %arg0, %12, dim = 0 : (tensor<8x4xf32>, tensor<i32>) -> tensor<?x4xf32, #stablehlo.bounds<8, ?>>
    %output, %batch_mean, %batch_var = "stablehlo.batch_norm_training"(%arg0, %arg2, %arg2) <{epsilon = 9.99999974E-6 : f32, feature_index = 1 : i64}> : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>)
    %18 = chlo.tan %arg2 : tensor<4xf32> -> tensor<4xf32>
    %19 = "stablehlo.map"(%arg2) <{dimensions = array<i64: 0>}> ({
    ^bb0(%arg4: tensor<f32>):
      stablehlo.return %arg4 : tensor<f32>
    }) : (tensor<4xf32>) -> tensor<4xf32>
    return %8 : tensor<8x2xf32>
  }
  func.func private @impl2(%arg0: tensor<8x2xf32>) -> tensor<8x2xf32> {
    return %arg0 : tensor<8x2xf32>
  }
  func.func private @impl(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    return %arg0 : tensor<8x4xf32>
  }
}
