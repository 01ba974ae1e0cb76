// Meshes, shardings, and the operations of the sdy dialect.

sdy.mesh @mesh = <["x"=4, "y"=2]>
sdy.mesh @turned = <["x"=4, "y"=2], device_ids=[1, 0, 2, 3, 4, 5, 6, 7]>
sdy.mesh @one = <[], device_ids=[3]>
func.func @fits(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, "y"}, {"x":(2)2, ?}p1], replicated={}>}, %b: tensor<16x8xf32>, %c: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@one, []>}) {
  %0 = sdy.all_gather [{"y"}, {}] %a out_sharding=<@mesh, [{"x":(1)2}, {"x":(2)2}]> : tensor<16x8xf32>
  %1 = sdy.all_slice [{"x"}, {}] %b out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  %2 = sdy.collective_permute %1 out_sharding=<@turned, [{"x"}, {}]> : tensor<16x8xf32>
  %3 = sdy.reshard %1 <@mesh, [{}, {}], unreduced={"x"}> : tensor<16x8xf32>
  %4 = sdy.all_reduce {"x"} %3 out_sharding=<@mesh, [{}, {}]> : tensor<16x8xf32>
  %5 = stablehlo.custom_call @f(%b) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=16, j=8} need_replication={j}>} : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %6 = sdy.data_flow_edge %5 sharding=<@mesh, [{"x"}, {?}]> : tensor<16x8xf32>
  return
}

// -----

// error: SH0211 the device ids of mesh @mesh are not a permutation of 0..4: 1 is repeated
sdy.mesh @mesh = <["x"=4], device_ids=[0, 1, 1, 3]>
func.func @main() {
  return
}

// -----

sdy.mesh @mesh = <["x"=8, "y"=2]>
// error: SH0212 the sharding of argument 0 of @rank has 1 dimensions, but the value has 2
func.func @rank(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
  return
}
// error: SH0212 the sharding of argument 0 of @twice is not valid: axis x is used twice
func.func @twice(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"x"}]>}) {
  return
}
// error: SH0212 the sharding of argument 0 of @overlap is not valid: x:(1)4 and x:(2)2 overlap
func.func @overlap(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)4}, {"x":(2)2}]>}) {
  return
}
// error: SH0212 the sharding of argument 0 of @whole is not valid: the adjacent sub-axes x:(1)2 and x:(2)2 must be merged
func.func @whole(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(1)2, "x":(2)2}, {}]>}) {
  return
}
// error: SH0212 the sharding of argument 0 of @order is not valid: the replicated axes y and x are not in the order of the mesh
func.func @order(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], replicated={"y", "x"}>}) {
  return
}
// error: SH0212 the sharding of argument 0 of @priority is not valid: dimension 0 has a priority, but it is closed and has no axes
func.func @priority(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}p2, {}]>}) {
  return
}
// error: SH0212 the sharding of argument 0 of @token has axes, but the value is not a tensor
func.func @token(%a: !stablehlo.token {sdy.sharding = #sdy.sharding<@mesh, [], replicated={"x"}>}) {
  return
}

// -----

sdy.mesh @mesh = <["x"=4, "y"=2]>
sdy.mesh @other = <["x"=4, "y"=2]>
sdy.mesh @wide = <["x"=2, "y"=4]>
func.func @collectives(%a: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<16x8xf32>) {
  // error: SH0213 sdy.all_gather: dimension 1 is sharded {} in the operand and {} in the result, which does not match the axes of the collective
  %0 = sdy.all_gather [{}, {"x"}] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  // error: SH0213 sdy.all_gather: its operand has no sharding
  %1 = sdy.all_gather [{"x"}, {}] %b out_sharding=<@mesh, [{}, {}]> : tensor<16x8xf32>
  // error: SH0213 sdy.all_reduce: it reduces along an axis that shards a dimension: axis x is used twice
  %2 = sdy.all_reduce {"x"} %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  // error: SH0213 sdy.all_reduce: the reduced axes y and x are not in the order of the mesh
  %3 = sdy.all_reduce {"y", "x"} %b out_sharding=<@mesh, [{}, {}]> : tensor<16x8xf32>
  // error: SH0213 sdy.collective_permute: its operand and its result are on two meshes with the same device order
  %4 = sdy.collective_permute %a out_sharding=<@other, [{"x"}, {}]> : tensor<16x8xf32>
  // error: SH0213 sdy.collective_permute: its operand and its result are on meshes with different axes
  %5 = sdy.collective_permute %a out_sharding=<@wide, [{"x"}, {}]> : tensor<16x8xf32>
  // error: SH0213 sdy.all_to_all: dimensions 0 and 0 must be different dimensions of an operand of rank 2
  %6 = sdy.all_to_all [{"x"}: 0->0] %a out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  // error: SH0213 sdy.all_slice: the adjacent sub-axes x:(1)2 and x:(2)2 must be merged
  %7 = sdy.all_slice [{"x":(1)2, "x":(2)2}, {}] %b out_sharding=<@mesh, [{"x"}, {}]> : tensor<16x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @pending(%a: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}], unreduced=max{"x"}>}, %b: tensor<8xf32>) {
  // error: SH0218 sdy.reshard changes an unreduced maximum to an unreduced sum
  %0 = sdy.reshard %a <@mesh, [{}], unreduced={"x"}> : tensor<8xf32>
  // A reshard may create an unreduced maximum, as in Shardy of JAX 0.12.
  %1 = sdy.reshard %b <@mesh, [{}], unreduced=max{"x"}> : tensor<8xf32>
  // error: SH0218 sdy.all_reduce reduces an unreduced maximum with the reduction sum
  %2 = sdy.all_reduce {"x"} %a out_sharding=<@mesh, [{}]> : tensor<8xf32>
  // error: SH0218 sdy.propagation_barrier allows both directions and has no effect: use NONE, FORWARD or BACKWARD, or remove it
  %3 = sdy.propagation_barrier %b allowed_direction=BOTH : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4, "y"=2]>
func.func @manual(%a: tensor<8xf32>) {
  // error: SH0213 sdy.manual_computation: operand 0: the value in the body has type tensor<8xf32>, expected tensor<2xf32>, the local type of tensor<8xf32>
  %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<8xf32>) {
    sdy.return %b : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  // error: SH0213 sdy.manual_computation: operand 0: manual axes must precede free axes in a dimension
  %1 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"y", "x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
    sdy.return %b : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  %2 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<2xf32>) {
    // error: SH0213 sdy.sharding_constraint uses the axis x, which is manual in an enclosing sdy.manual_computation
    %c = sdy.sharding_constraint %b <@mesh, [{"x"}]> : tensor<2xf32>
    sdy.return %c : tensor<2xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

func.func @rules(%a: tensor<4x8xf32>, %d: tensor<?x8xf32>) {
  // error: SH0218 sdy.sharding_rule of stablehlo.custom_call @f has factors for 1 dimensions of operand 0, which has rank 2
  %0 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i])->([i, j]) {i=4, j=8}>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // error: SH0218 sdy.sharding_rule of stablehlo.custom_call @f has factors for 2 operands, but the operation has 1
  %1 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j], [i, j])->([i, j]) {i=4, j=8}>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // error: SH0218 sdy.sharding_rule of stablehlo.custom_call @f has the factor l, but no operand or result uses it
  %2 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, k]) {i=4, j=8, k=8, l=2}>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // error: SH0218 sdy.sharding_rule of stablehlo.custom_call @f has the reduction factor j in a result
  %3 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8} reduction={j}>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // error: SH0218 sdy.sharding_rule of stablehlo.custom_call @f must list its need_replication factors in ascending order, got j before i
  %4 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8} need_replication={j, i}>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // error: SH0218 sdy.sharding_rule of stablehlo.custom_call @f lists the factor j as permutation and as another kind
  %5 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8} need_replication={j} permutation={j}>} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // error: SH0218 sdy.sharding_rule of stablehlo.custom_call @f needs static shapes, but operand 0 is tensor<?x8xf32>
  %6 = stablehlo.custom_call @f(%d) {sdy.sharding_rule = #sdy.op_sharding_rule<([i, j])->([i, j]) {i=4, j=8}>} : (tensor<?x8xf32>) -> tensor<4x8xf32>
  // error: SH0218 sdy.sharding_rule of stablehlo.custom_call @f must be a #sdy.op_sharding_rule<...>
  %7 = stablehlo.custom_call @f(%a) {sdy.sharding_rule = 3 : i64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @edges(%a: tensor<8xf32>, %d: tensor<?xf32>, %e: tensor<8xf32>) {
  // error: SH0218 sdy.data_flow_edge needs a static shape, got tensor<?xf32>
  %0 = sdy.data_flow_edge %d : tensor<?xf32>
  // error: SH0212 the sharding of value 0 of sdy.data_flow_edge has 2 dimensions, but the value has 1
  %1 = sdy.data_flow_edge %e sharding=<@mesh, [{}, {}]> : tensor<8xf32>
  // error: SH0218 sdy.data_flow_edge must be the only user of its operand, which has 5 users
  %2 = sdy.data_flow_edge %a : tensor<8xf32>
  %3 = stablehlo.negate %a : tensor<8xf32>
  // error: SH0218 sdy.func_data_flow_edge must take an argument of a function or a result of a call
  %4 = sdy.func_data_flow_edge %3 : tensor<8xf32>
  // error: SH0218 sdy.propagation_edges of stablehlo.abs refers to operand 1, but the operation has 1
  %5 = stablehlo.abs %a {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"x" = operand-1 -> [result-0]}]}]>} : tensor<8xf32>
  // error: SH0218 sdy.propagation_edges of stablehlo.abs refers to no value with a sharding
  %6 = stablehlo.abs %a {sdy.propagation_edges = #sdy.propagation_edges<[{step-1 = [{"x" = operand-0 -> [result-0]}]}]>} : tensor<8xf32>
  // error: SH0218 sdy.propagation_edges of stablehlo.abs must be a #sdy.propagation_edges<...>
  %7 = stablehlo.abs %a {sdy.propagation_edges = 7} : tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=4]>
func.func @named(%a: tensor<8xf32>) {
  // error: SH0218 sdy.named_computation has 2 in_shardings, expected 1
  %0 = sdy.named_computation<"f">(%a) in_shardings=[<@mesh, [{"x"}]>, <@mesh, [{}]>] (%b: tensor<8xf32>) {
    sdy.return %b : tensor<8xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  // error: SH0207 result 0 of sdy.named_computation is tensor<8xf32>, but its region returns tensor<4xf32>
  %1 = sdy.named_computation<"f">(%a) (%b: tensor<4xf32>) {
    sdy.return %b : tensor<4xf32>
  } : (tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

sdy.mesh @mesh = <["x"=8, "y"=2]>
// error: SH0108 (3)2 is not a sub-axis of the axis "x" of size 8
func.func @part(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x":(3)2}, {}]>}) {
  return
}

// -----

sdy.mesh @one = <[], device_ids=[0]>
// error: SH0212 the sharding of argument 0 of @dimensions_on_one_device is not valid: a sharding on a maximal mesh has no axes: write `[]`
func.func @dimensions_on_one_device(%a: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@one, [{}, {}]>}) {
  return
}
