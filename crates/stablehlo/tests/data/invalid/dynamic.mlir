// Shapes as operands, and bounds of sizes.

func.func @fits(%a: tensor<2x6xf32>, %s: tensor<2xi32>, %n: tensor<i32>, %v: tensor<f32>, %b: tensor<?xf32, #stablehlo.bounds<8>>) {
  %c = stablehlo.constant dense<[3, 4]> : tensor<2xi32>
  %0 = stablehlo.dynamic_reshape %a, %c : (tensor<2x6xf32>, tensor<2xi32>) -> tensor<3x4xf32>
  %1 = stablehlo.dynamic_reshape %a, %s : (tensor<2x6xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  %2 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 1] : (tensor<2x6xf32>, tensor<2xi32>) -> tensor<?x6xf32>
  %3 = stablehlo.dynamic_iota %s, dim = 1 : (tensor<2xi32>) -> tensor<?x?xi32>
  %4 = "stablehlo.set_dimension_size"(%a, %n) <{dimension = 0 : i64}> : (tensor<2x6xf32>, tensor<i32>) -> tensor<?x6xf32, #stablehlo.bounds<2, ?>>
  %5 = "stablehlo.get_dimension_size"(%a) <{dimension = 1 : i64}> : (tensor<2x6xf32>) -> tensor<i32>
  %6 = stablehlo.add %b, %b : tensor<?xf32, #stablehlo.bounds<8>>
  %7 = "stablehlo.rng"(%v, %v, %c) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<f32>, tensor<2xi32>) -> tensor<3x4xf32>
  return
}

// -----

func.func @reshapes(%a: tensor<2x6xf32>, %s: tensor<2xi32>) {
  %c = stablehlo.constant dense<[3, 5]> : tensor<2xi32>
  // error: SH0207 dynamic_reshape of tensor<2x6xf32> to the shape [3, 5] changes the number of elements, 12
  %0 = stablehlo.dynamic_reshape %a, %c : (tensor<2x6xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  // error: SH0207 stablehlo.dynamic_reshape gives tensor<3x4xf32>, but its shape operand 1 is [3, 5]
  %1 = stablehlo.dynamic_reshape %a, %c : (tensor<2x6xf32>, tensor<2xi32>) -> tensor<3x4xf32>
  // error: SH0207 stablehlo.dynamic_reshape gives tensor<?xf32>, but its shape operand 1 has 2 elements
  %2 = stablehlo.dynamic_reshape %a, %s : (tensor<2x6xf32>, tensor<2xi32>) -> tensor<?xf32>
  // error: SH0207 dynamic_reshape of tensor<2x6xf32> gives tensor<?x?xi32>: the element type and the number of elements must not change
  %3 = stablehlo.dynamic_reshape %a, %s : (tensor<2x6xf32>, tensor<2xi32>) -> tensor<?x?xi32>
  return
}

// -----

func.func @shapes(%a: tensor<4xf32>, %s: tensor<2xi32>, %n: tensor<i32>, %v: tensor<f32>, %u: tensor<?xi32>) {
  %c = stablehlo.constant dense<[-1, 4]> : tensor<2xi32>
  // error: SH0207 stablehlo.dynamic_broadcast_in_dim gives tensor<?x4xf32>, but its shape operand 1 is [-1, 4]
  %0 = stablehlo.dynamic_broadcast_in_dim %a, %c, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
  // error: SH0207 dimensions [2] of stablehlo.dynamic_broadcast_in_dim must be less than the rank, 2
  %1 = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [2] : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x?xf32>
  // error: SH0207 dimension 2 of dynamic_iota is out of range for tensor<?x?xi32>
  %2 = stablehlo.dynamic_iota %s, dim = 2 : (tensor<2xi32>) -> tensor<?x?xi32>
  // error: SH0207 operand 0 of stablehlo.dynamic_iota must be a 1-dimensional integer tensor of static shape, got tensor<?xi32>
  %3 = stablehlo.dynamic_iota %u, dim = 0 : (tensor<?xi32>) -> tensor<?x?xi32>
  // error: SH0207 dimension 1 of stablehlo.get_dimension_size is out of range for tensor<4xf32>
  %4 = "stablehlo.get_dimension_size"(%a) <{dimension = 1 : i64}> : (tensor<4xf32>) -> tensor<i32>
  // error: SH0207 the size operand of set_dimension_size must be i32, got tensor<f32>
  %5 = "stablehlo.set_dimension_size"(%a, %v) <{dimension = 0 : i64}> : (tensor<4xf32>, tensor<f32>) -> tensor<?xf32>
  // error: SH0207 rng between tensor<f32> and tensor<i32>: the element types differ
  %6 = "stablehlo.rng"(%v, %n, %s) <{rng_distribution = #stablehlo<rng_distribution UNIFORM>}> : (tensor<f32>, tensor<i32>, tensor<2xi32>) -> tensor<?x?xf32>
  // error: SH0207 rng with a normal distribution needs a float type, got i32
  %7 = "stablehlo.rng"(%n, %n, %s) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<i32>, tensor<i32>, tensor<2xi32>) -> tensor<?x?xi32>
  return
}

// -----

func.func @pads(%a: tensor<4xf32>, %v: tensor<f32>, %s: tensor<2xi32>) {
  %l = stablehlo.constant dense<1> : tensor<1xi32>
  %n = stablehlo.constant dense<-1> : tensor<1xi32>
  // error: SH0207 dynamic_pad of tensor<4xf32> gives tensor<8xf32>: dimension 0 must have size 9
  %0 = stablehlo.dynamic_pad %a, %v, %l, %l, %l : (tensor<4xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<8xf32>
  // error: SH0207 dynamic_pad has negative interior padding [-1]
  %1 = stablehlo.dynamic_pad %a, %v, %l, %l, %n : (tensor<4xf32>, tensor<f32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  // error: SH0207 operand 2 of dynamic_pad has 2 elements for 1 dimensions of tensor<4xf32>
  %2 = stablehlo.dynamic_pad %a, %v, %s, %s, %s : (tensor<4xf32>, tensor<f32>, tensor<2xi32>, tensor<2xi32>, tensor<2xi32>) -> tensor<?xf32>
  // error: SH0207 operand 1 of real_dynamic_slice must have one integer per dimension of tensor<4xf32>, got tensor<2xi32>
  %3 = stablehlo.real_dynamic_slice %a, %s, %l, %l : (tensor<4xf32>, tensor<2xi32>, tensor<1xi32>, tensor<1xi32>) -> tensor<?xf32>
  return
}

// -----

func.func @bounds(%a: tensor<?xf32, #stablehlo.bounds<8>>, %b: tensor<9xf32>, %v: tensor<f32>) {
  // error: SH0207 operands of stablehlo.add have incompatible shapes: dimension 0 has size 9 in one and at most 8 in the other (tensor<?xf32, #stablehlo.bounds<8>> and tensor<9xf32>)
  %0 = "stablehlo.add"(%a, %b) : (tensor<?xf32, #stablehlo.bounds<8>>, tensor<9xf32>) -> tensor<9xf32>
  // error: SH0207 result 0 of stablehlo.add is tensor<9xf32>, expected tensor<?xf32, #stablehlo.bounds<8>>
  %1 = "stablehlo.add"(%a, %a) : (tensor<?xf32, #stablehlo.bounds<8>>, tensor<?xf32, #stablehlo.bounds<8>>) -> tensor<9xf32>
  // error: SH0207 slice [0:9:1] of dimension 0 is invalid for tensor<?xf32, #stablehlo.bounds<8>>, whose bound is 8
  %2 = stablehlo.slice %a [0:9] : (tensor<?xf32, #stablehlo.bounds<8>>) -> tensor<9xf32>
  // error: SH0207 pad of tensor<?xf32, #stablehlo.bounds<8>> leaves dimension 0 with a negative size (-1)
  %3 = stablehlo.pad %a, %v, low = [-9], high = [0], interior = [0] : (tensor<?xf32, #stablehlo.bounds<8>>, tensor<f32>) -> tensor<?xf32>
  return
}

// -----

// error: SH0110 `#stablehlo.bounds<8>` has 1 bounds for 2 dimensions
func.func @bounded(%a: tensor<?x4xf32, #stablehlo.bounds<8>>) {
  return
}
