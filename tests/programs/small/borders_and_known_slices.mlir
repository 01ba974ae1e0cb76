// Padding that mirrors and repeats what is at the border, and slices at places that the program says, of blocks that are not even.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(
    %a: tensor<61x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
    %b: tensor<23x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>})
    -> (tensor<69x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<31x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y", "x"}, {}]>},
        tensor<50x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>},
        tensor<20x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
        tensor<9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) {
  %0 = stablehlo.slice %a [1:5, 0:9] : (tensor<61x9xf32>) -> tensor<4x9xf32>
  %1 = stablehlo.reverse %0, dims = [0] : tensor<4x9xf32>
  %2 = stablehlo.concatenate %1, %a, dim = 0 : (tensor<4x9xf32>, tensor<61x9xf32>) -> tensor<65x9xf32>
  %3 = stablehlo.slice %2 [60:64, 0:9] : (tensor<65x9xf32>) -> tensor<4x9xf32>
  %4 = stablehlo.reverse %3, dims = [0] : tensor<4x9xf32>
  %5 = stablehlo.concatenate %2, %4, dim = 0 : (tensor<65x9xf32>, tensor<4x9xf32>) -> tensor<69x9xf32>
  %6 = stablehlo.slice %b [0:1, 0:3] : (tensor<23x3xf32>) -> tensor<1x3xf32>
  %7 = stablehlo.broadcast_in_dim %6, dims = [0, 2] : (tensor<1x3xf32>) -> tensor<1x4x3xf32>
  %8 = stablehlo.reshape %7 : (tensor<1x4x3xf32>) -> tensor<4x3xf32>
  %9 = stablehlo.slice %b [22:23, 0:3] : (tensor<23x3xf32>) -> tensor<1x3xf32>
  %10 = stablehlo.broadcast_in_dim %9, dims = [0, 2] : (tensor<1x3xf32>) -> tensor<1x4x3xf32>
  %11 = stablehlo.reshape %10 : (tensor<1x4x3xf32>) -> tensor<4x3xf32>
  %12 = stablehlo.concatenate %8, %b, %11, dim = 0 : (tensor<4x3xf32>, tensor<23x3xf32>, tensor<4x3xf32>) -> tensor<31x3xf32>
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %far = stablehlo.constant dense<30> : tensor<i32>
  %13 = stablehlo.dynamic_slice %a, %far, %zero, sizes = [50, 9] : (tensor<61x9xf32>, tensor<i32>, tensor<i32>) -> tensor<50x9xf32>
  %i = stablehlo.iota dim = 0 : tensor<20x1xi32>
  %three = stablehlo.constant dense<3> : tensor<20x1xi32>
  %14 = stablehlo.multiply %i, %three : tensor<20x1xi32>
  %ones = stablehlo.constant dense<1> : tensor<20x1xi32>
  %15 = stablehlo.add %14, %ones : tensor<20x1xi32>
  %16 = "stablehlo.gather"(%a, %15) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 9>}> : (tensor<61x9xf32>, tensor<20x1xi32>) -> tensor<20x9xf32>
  %at = stablehlo.constant dense<60> : tensor<1xi32>
  %17 = "stablehlo.gather"(%a, %at) <{dimension_numbers = #stablehlo.gather<offset_dims = [0], collapsed_slice_dims = [0], start_index_map = [0]>, slice_sizes = array<i64: 1, 9>}> : (tensor<61x9xf32>, tensor<1xi32>) -> tensor<9xf32>
  return %5, %12, %13, %16, %17 : tensor<69x9xf32>, tensor<31x3xf32>, tensor<50x9xf32>, tensor<20x9xf32>, tensor<9xf32>
}
