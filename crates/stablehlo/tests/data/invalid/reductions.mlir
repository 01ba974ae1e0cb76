// Reductions, their bodies, and sorting.

func.func @fits(%a: tensor<4x5xf32>, %z: tensor<f32>, %v: tensor<5xf32>) {
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  // A body whose arguments are rows.
  %1 = "stablehlo.reduce"(%a, %v) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<5xf32>, %y: tensor<5xf32>):
    %s = stablehlo.add %x, %y : tensor<5xf32>
    stablehlo.return %s : tensor<5xf32>
  }) : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<5xf32>
  // A body that computes in a wider type.
  %2 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f64>, %y: tensor<f64>):
    %s = stablehlo.add %x, %y : tensor<f64>
    stablehlo.return %s : tensor<f64>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf64>
  %3 = "stablehlo.map"(%a, %a) <{dimensions = array<i64: 0, 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %s : tensor<i1>
  }) : (tensor<4x5xf32>, tensor<4x5xf32>) -> tensor<4x5xi1>
  return
}

// -----

func.func @reduces(%a: tensor<4x5xf32>, %b: tensor<5x4xf32>, %z: tensor<f32>, %i: tensor<i32>, %v: tensor<3xf32>) {
  // error: SH0207 dimensions [2] of stablehlo.reduce must be less than the rank, 2
  %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [2] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  // error: SH0207 dimensions [1, 1] of stablehlo.reduce: dimension 1 is repeated
  %1 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1, 1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<4xf32>
  // error: SH0207 result 0 of stablehlo.reduce is tensor<5xf32>, expected tensor<4xf32>
  %2 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [1] : (tensor<4x5xf32>, tensor<f32>) -> tensor<5xf32>
  // error: SH0207 stablehlo.reduce combines elements of type i32 in f32, which cannot represent them
  %3 = "stablehlo.reduce"(%a, %i) <{dimensions = array<i64: 1>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<i32>) -> tensor<4xf32>
  // error: SH0207 operand 1 of stablehlo.reduce, an initial value, must be a scalar or have dimensions of [5], got tensor<3xf32>
  %4 = "stablehlo.reduce"(%a, %v) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<3xf32>, %y: tensor<3xf32>):
    stablehlo.return %x : tensor<3xf32>
  }) : (tensor<4x5xf32>, tensor<3xf32>) -> tensor<5xf32>
  // error: SH0207 inputs of stablehlo.reduce have different shapes: [4, 5] and [5, 4]
  %5:2 = "stablehlo.reduce"(%a, %b, %z, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>, %s: tensor<f32>, %t: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<4x5xf32>, tensor<5x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<5xf32>, tensor<4xf32>)
  return
}

// -----

func.func @bodies(%a: tensor<4xf32>, %l: tensor<4xi64>, %z: tensor<f32>, %i: tensor<i64>) {
  // error: SH0208 region 0 of stablehlo.reduce has 1 arguments, expected 2
  %0 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  // error: SH0208 region 0 of stablehlo.reduce has 2 returned values, expected 1
  %1 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x, %y : tensor<f32>, tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  // error: SH0207 stablehlo.reduce combines elements of type i64 in i32, which cannot represent them
  %2 = "stablehlo.reduce"(%l, %i) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    stablehlo.return %x : tensor<i32>
  }) : (tensor<4xi64>, tensor<i64>) -> tensor<i32>
  // error: SH0208 argument 1 of region 0 of stablehlo.reduce is tensor<i32>, expected tensor<f32>
  %3 = "stablehlo.reduce"(%a, %z) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<i32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32>
  return
}

// -----

func.func @windows(%a: tensor<4x5xf32>, %z: tensor<f32>, %s: tensor<3x2xf32>) {
  // error: SH0207 the window of stablehlo.reduce_window must have one entry per dimension of shape [4, 5]
  %0 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<3x4xf32>
  // error: SH0207 window sizes [2, 0] of stablehlo.reduce_window must be positive
  %1 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2, 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<3x4xf32>
  // error: SH0207 stride and dilations of stablehlo.reduce_window must be positive in window dimension 1
  %2 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 1, 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<3x4xf32>
  // error: SH0207 result 0 of stablehlo.reduce_window is tensor<4x5xf32>, expected tensor<3x4xf32>
  %3 = "stablehlo.reduce_window"(%a, %z) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<f32>) -> tensor<4x5xf32>
  // error: SH0207 the source of select_and_scatter is tensor<3x2xf32>, expected the shape of the windows, [3, 4]
  %4 = "stablehlo.select_and_scatter"(%a, %s, %z) <{window_dimensions = array<i64: 2, 2>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }, {
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x5xf32>, tensor<3x2xf32>, tensor<f32>) -> tensor<4x5xf32>
  return
}

// -----

func.func @orders(%a: tensor<4x5xf32>, %b: tensor<4xi32>) {
  // error: SH0207 dimension 2 of sort is out of range for tensor<4x5xf32>
  %0 = "stablehlo.sort"(%a) <{dimension = 2 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  // error: SH0208 returned value 0 of region 0 of stablehlo.sort is tensor<f32>, expected tensor<i1>
  %1 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  // error: SH0208 argument 1 of region 0 of stablehlo.sort is tensor<i32>, expected tensor<f32>
  %2 = "stablehlo.sort"(%a) <{dimension = 0 : i64, is_stable = true}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<i32>):
    %c = stablehlo.compare LT, %x, %x : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  // error: SH0207 the dimensions of map of tensor<4x5xf32> must be all of its dimensions in order, got [1, 0]
  %3 = "stablehlo.map"(%a) <{dimensions = array<i64: 1, 0>}> ({
  ^bb0(%x: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x5xf32>) -> tensor<4x5xf32>
  // error: SH0208 region 0 of stablehlo.map has 2 arguments, expected 1
  %4 = "stablehlo.map"(%b) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<i32>, %y: tensor<i32>):
    stablehlo.return %x : tensor<i32>
  }) : (tensor<4xi32>) -> tensor<4xi32>
  return
}
