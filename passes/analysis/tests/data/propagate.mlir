// A product: the batch goes forward, the contracted dimension to both operands.
sdy.mesh @mesh = <["a"=2, "b"=2]>
// args: [{"a"}, {"b"}]; [{"b"}, {}]
// results: [{"a"}, {}]
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}, %w: tensor<8x16xf32>) -> tensor<8x16xf32> {
  // sharding: [{"a"}, {}]
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
  return %0 : tensor<8x16xf32>
}
// -----
// Elementwise operations go before products, so the result keeps the layout of the sum.
sdy.mesh @mesh = <["a"=2]>
// args: [{"a"}, {}]; [{}, {"a"}]; [{}, {"a"}]
// results: [{}, {"a"}]
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {?}]>}, %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"a"}]>}, %y: tensor<8x8xf32>) -> tensor<8x8xf32> {
  // sharding: [{}, {"a"}]
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  // sharding: [{}, {"a"}]
  %1 = stablehlo.add %0, %y : tensor<8x8xf32>
  // sharding: [{}, {"a"}]
  %2 = stablehlo.add %1, %w : tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}
// -----
// Closed dimensions take nothing; explicitly replicated axes are not used.
sdy.mesh @mesh = <["a"=2, "b"=2]>
// args: [{"a"}, {"b"}]; [{}, {"b"}]; [{"a"}, {}]
// results: [{"a"}, {"b"}]; [{"a"}, {"b"}]
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}, %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {?}]>}, %z: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {?}], replicated={"b"}>}) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  // sharding: [{"a"}, {"b"}]
  %0 = stablehlo.add %x, %y : tensor<8x8xf32>
  // sharding: [{"a"}, {"b"}]
  %1 = stablehlo.add %x, %z : tensor<8x8xf32>
  return %0, %1 : tensor<8x8xf32>, tensor<8x8xf32>
}
// -----
// A reshape cuts an axis in two where a dimension splits, and joins it again.
sdy.mesh @mesh = <["a"=4]>
// args: [{"a"}]
// results: [{"a"}]
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}) -> tensor<8xf32> {
  // sharding: [{"a":(1)2}, {"a":(2)2}]
  %0 = stablehlo.reshape %x : (tensor<8xf32>) -> tensor<2x4xf32>
  // sharding: [{"a"}]
  %1 = stablehlo.reshape %0 : (tensor<2x4xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}
// -----
// Priorities: the first dimension of the argument is seen before that of the result.
sdy.mesh @mesh = <["a"=2, "b"=2]>
// args: [{"a"}, {}]; [{"b"}, {"a"}]
// results: [{"a"}, {}]
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a", ?}p0, {?}]>}, %y: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b", ?}p1, {"a", ?}p1]>}) -> tensor<8x8xf32> {
  // sharding: [{"a"}, {}]
  %0 = stablehlo.add %x, %y : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// -----
// A closed constraint acts on what makes its operand; constants are copied per use.
sdy.mesh @mesh = <["a"=2, "b"=2]>
// args: [{"a"}, {"b"}]
// results: [{"a"}, {}]; [{}, {"b"}]
func.func @main(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %cst = stablehlo.constant dense<1.0> : tensor<8x8xf32>
  // sharding: [{"a"}, {}]
  %0 = stablehlo.add %x, %cst : tensor<8x8xf32>
  // sharding: [{"a"}, {}]
  %1 = sdy.sharding_constraint %0 <@mesh, [{"a"}, {}]> : tensor<8x8xf32>
  // sharding: [{"a"}, {"b"}]
  %2 = stablehlo.tanh %x : tensor<8x8xf32>
  // sharding: [{}, {"b"}]
  %3 = stablehlo.multiply %2, %cst {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{}, {"b"}]>]>} : tensor<8x8xf32>
  return %1, %3 : tensor<8x8xf32>, tensor<8x8xf32>
}
// -----
// Loop-carried values share a sharding; what the body computes reaches the result.
sdy.mesh @mesh = <["a"=2, "b"=2]>
// args: [{"a"}, {"b"}]; [{}, {"b"}]
// results: [{"a"}, {"b"}]
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {?}]>}, %w: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{?}, {"b"}]>}) -> tensor<8x8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  // sharding: []; [{"a"}, {"b"}]
  %0:2 = stablehlo.while(%i = %c, %h = %x) : tensor<i32>, tensor<8x8xf32>
  cond {
    %n = stablehlo.constant dense<3> : tensor<i32>
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.add %i, %one : tensor<i32>
    // sharding: [{"a"}, {"b"}]
    %2 = stablehlo.dot_general %h, %w, contracting_dims = [1] x [0] : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    stablehlo.return %1, %2 : tensor<i32>, tensor<8x8xf32>
  }
  return %0#1 : tensor<8x8xf32>
}
// -----
// Branches and barriers.
sdy.mesh @mesh = <["a"=2, "b"=2]>
// args: []; [{"a"}]; [{"a"}]; [{"b"}]
// results: [{"a"}]; [{}]; [{"b"}]
func.func @main(%p: tensor<i1>, %x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}, %y: tensor<8xf32>, %z: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  // sharding: [{"a"}]
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %x : tensor<8xf32>
  }, {
    stablehlo.return %y : tensor<8xf32>
  }) : (tensor<i1>) -> tensor<8xf32>
  // sharding: [{"a"}]
  %1 = stablehlo.optimization_barrier %0 : tensor<8xf32>
  // sharding: [{}]
  %2 = sdy.propagation_barrier %z allowed_direction=BACKWARD : tensor<8xf32>
  // sharding: [{"b"}]
  %3 = sdy.propagation_barrier %z allowed_direction=FORWARD : tensor<8xf32>
  return %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
// -----
// A manual computation: free axes pass the boundary, manual ones stay outside.
sdy.mesh @mesh = <["a"=2, "b"=2]>
// args: [{"a"}, {"b"}]
// results: [{"a"}, {"b"}]
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {"b"}]>}) -> tensor<8x8xf32> {
  // sharding: [{"a"}, {"b"}]
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"a"}, {?}]>] out_shardings=[<@mesh, [{"a"}, {?}]>] manual_axes={"a"} (%y: tensor<4x8xf32>) {
    // sharding: [{}, {"b"}]
    %1 = stablehlo.tanh %y : tensor<4x8xf32>
    sdy.return %1 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// -----
// At the boundary of the function an inferred axis must divide; one that the user wrote stays.
sdy.mesh @mesh = <["a"=4]>
// args: [{"a"}]; [{}]
// results: [{}]
func.func @main(%x: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}, %y: tensor<6xf32>) -> tensor<6xf32> {
  // sharding: [{"a"}]
  %0 = stablehlo.add %x, %y : tensor<6xf32>
  return %0 : tensor<6xf32>
}
// -----
// Axes of size one are dropped.
sdy.mesh @mesh = <["one"=1, "a"=2]>
// args: [{"a"}, {}]
// results: [{"a"}, {}]
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"one", "a"}, {?}]>}) -> tensor<8x8xf32> {
  // sharding: [{"a"}, {}]
  %0 = stablehlo.tanh %x : tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
// -----
// A callee is copied to each call, so each may be sharded in its own way.
sdy.mesh @mesh = <["a"=2, "b"=2]>
// args: [{"a"}]; [{"b"}]
// results: [{"a"}]; [{"b"}]
func.func @main(%x: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}]>}, %y: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"b"}]>}) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = call @f(%x) : (tensor<8xf32>) -> tensor<8xf32>
  %1 = call @f(%y) : (tensor<8xf32>) -> tensor<8xf32>
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}
func.func private @f(%x: tensor<8xf32>) -> tensor<8xf32> {
  // sharding: [{"a"}]
  %0 = stablehlo.tanh %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}
// -----
// Broadcasts send shardings back before they send them on; slices taken at dynamic places send them forward.
sdy.mesh @mesh = <["a"=2]>
// args: [{"a"}]; [{"a"}, {}]; []
// results: [{"a"}, {}]; [{"a"}, {}]
func.func @main(%x: tensor<8xf32>, %y: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"a"}, {}]>}, %i: tensor<i32>) -> (tensor<8x4xf32>, tensor<8x1xf32>) {
  // sharding: [{"a"}, {}]
  %0 = stablehlo.broadcast_in_dim %x, dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
  // sharding: [{"a"}, {}]
  %1 = stablehlo.add %0, %y : tensor<8x4xf32>
  // sharding: [{"a"}, {}]
  %2 = stablehlo.dynamic_slice %1, %i, %i, sizes = [8, 1] : (tensor<8x4xf32>, tensor<i32>, tensor<i32>) -> tensor<8x1xf32>
  return %1, %2 : tensor<8x4xf32>, tensor<8x1xf32>
}
