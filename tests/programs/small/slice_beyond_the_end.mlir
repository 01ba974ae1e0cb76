// Starts beyond the end are brought into bounds before a device's block is cut out of the slice: XLA would make one slice of
// the two, and bring only the sum of their starts into bounds.
sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @main(%a: tensor<20x6xf32>, %b: tensor<9x20xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}, %i: tensor<i32>, %c: tensor<300x6xf32>) -> (tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<10x9xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, tensor<4x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<16x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}, tensor<160x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %far = stablehlo.constant dense<100> : tensor<i32>
  %j = stablehlo.add %i, %far : tensor<i32>
  %0 = stablehlo.dynamic_slice %a, %j, %zero, sizes = [16, 6] : (tensor<20x6xf32>, tensor<i32>, tensor<i32>) -> tensor<16x6xf32>
  %1 = stablehlo.dynamic_slice %b, %zero, %j, sizes = [9, 10] : (tensor<9x20xf32>, tensor<i32>, tensor<i32>) -> tensor<9x10xf32>
  %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<9x10xf32>) -> tensor<10x9xf32>
  // Along a dimension that is split, too.
  %3 = stablehlo.dynamic_slice %b, %j, %j, sizes = [4, 16] : (tensor<9x20xf32>, tensor<i32>, tensor<i32>) -> tensor<4x16xf32>
  // A gather of one slice is a slice.
  %k = stablehlo.reshape %j : (tensor<i32>) -> tensor<1xi32>
  %4 = "stablehlo.gather"(%a, %k) <{dimension_numbers = #stablehlo.gather<offset_dims = [0, 1], start_index_map = [0], index_vector_dim = 0>, slice_sizes = array<i64: 16, 6>}> : (tensor<20x6xf32>, tensor<1xi32>) -> tensor<16x6xf32>
  // A negative start, of a type that cannot represent the last start in bounds.
  %before = stablehlo.constant dense<-100> : tensor<i8>
  %narrow = stablehlo.convert %zero : (tensor<i32>) -> tensor<i8>
  %i8 = stablehlo.convert %i : (tensor<i32>) -> tensor<i8>
  %clamped = stablehlo.clamp %narrow, %i8, %narrow : tensor<i8>
  %negative = stablehlo.add %clamped, %before : tensor<i8>
  %5 = stablehlo.dynamic_slice %c, %negative, %narrow, sizes = [160, 6] : (tensor<300x6xf32>, tensor<i8>, tensor<i8>) -> tensor<160x6xf32>
  return %0, %2, %3, %4, %5 : tensor<16x6xf32>, tensor<10x9xf32>, tensor<4x16xf32>, tensor<16x6xf32>, tensor<160x6xf32>
}
