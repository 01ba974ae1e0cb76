// Addends go through every operation that is linear: nothing is sent but for the two results that are whole. The cosine of
// a sum is not the sum of the cosines, which the last result shows.
sdy.mesh @mesh = <["x"=2, "y"=4]>
func.func @main(
    %a: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>},
    %b: tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>},
    %w: tensor<12x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
    %i: tensor<5xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
    %p: tensor<i1>, %s: tensor<i32>)
    -> (tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>},
        tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}], unreduced={"y"}>},
        tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}]>},
        tensor<5x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], unreduced={"y"}>},
        tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}], unreduced={"y"}>},
        tensor<8x12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.constant dense<0.0> : tensor<8x12xf32>
  %two = stablehlo.constant dense<2.0> : tensor<8x12xf32>
  %ones = stablehlo.constant dense<1.0> : tensor<8x12xf32>
  // What both sides of a difference have, one device has in the addends.
  %0 = stablehlo.subtract %a, %b : tensor<8x12xf32>
  %1 = stablehlo.add %0, %ones : tensor<8x12xf32>
  %2 = stablehlo.multiply %two, %1 : tensor<8x12xf32>
  %3 = stablehlo.negate %2 : tensor<8x12xf32>
  %4 = stablehlo.divide %3, %two : tensor<8x12xf32>
  %5 = stablehlo.select %p, %4, %b : tensor<i1>, tensor<8x12xf32>
  %6 = stablehlo.convert %5 : (tensor<8x12xf32>) -> tensor<8x12xf64>
  %7 = stablehlo.convert %6 : (tensor<8x12xf64>) -> tensor<8x12xf32>
  %8 = stablehlo.complex %7, %a : tensor<8x12xcomplex<f32>>
  %9 = stablehlo.imag %8 : (tensor<8x12xcomplex<f32>>) -> tensor<8x12xf32>
  %10 = stablehlo.real %8 : (tensor<8x12xcomplex<f32>>) -> tensor<8x12xf32>
  %11 = stablehlo.add %9, %10 : tensor<8x12xf32>
  %12 = stablehlo.reverse %11, dims = [1] : tensor<8x12xf32>
  %13 = stablehlo.dot_general %12, %w, contracting_dims = [1] x [0] : (tensor<8x12xf32>, tensor<12x6xf32>) -> tensor<8x6xf32>
  %14 = stablehlo.transpose %13, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
  %15 = stablehlo.reduce(%12 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<8x12xf32>, tensor<f32>) -> tensor<12xf32>
  %16 = "stablehlo.gather"(%12, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 12>}> : (tensor<8x12xf32>, tensor<5xi32>) -> tensor<5x12xf32>
  %17 = stablehlo.slice %12 [0:8, 2:6] : (tensor<8x12xf32>) -> tensor<8x4xf32>
  %18 = stablehlo.concatenate %12, %17, dim = 1 : (tensor<8x12xf32>, tensor<8x4xf32>) -> tensor<8x16xf32>
  %19 = stablehlo.reshape %18 : (tensor<8x16xf32>) -> tensor<8x4x4xf32>
  %20 = stablehlo.reshape %19 : (tensor<8x4x4xf32>) -> tensor<8x16xf32>
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %21 = stablehlo.dynamic_slice %20, %c0, %s, sizes = [8, 12] : (tensor<8x16xf32>, tensor<i32>, tensor<i32>) -> tensor<8x12xf32>
  %22 = stablehlo.dynamic_update_slice %20, %21, %c0, %s : (tensor<8x16xf32>, tensor<8x12xf32>, tensor<i32>, tensor<i32>) -> tensor<8x16xf32>
  %23 = stablehlo.pad %17, %zero, low = [0, 4], high = [0, 4], interior = [0, 0] : (tensor<8x4xf32>, tensor<f32>) -> tensor<8x12xf32>
  %24 = stablehlo.optimization_barrier %23 : tensor<8x12xf32>
  %25 = "stablehlo.case"(%c0) ({
    %n = stablehlo.negate %24 : tensor<8x12xf32>
    stablehlo.return %n : tensor<8x12xf32>
  }, {
    stablehlo.return %zeros : tensor<8x12xf32>
  }) : (tensor<i32>) -> tensor<8x12xf32>
  %26 = stablehlo.cosine %b : tensor<8x12xf32>
  return %25, %14, %15, %16, %22, %26 : tensor<8x12xf32>, tensor<6x8xf32>, tensor<12xf32>, tensor<5x12xf32>, tensor<8x16xf32>, tensor<8x12xf32>
}
