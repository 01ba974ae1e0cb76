// Collectives, transfers, asynchronous operations, custom calls.

func.func @fits(%a: tensor<4x4xf32>, %t: !stablehlo.token, %i: tensor<1xi32>) {
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<2x8xf32>
  %3 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (tensor<4x4xf32>, !stablehlo.token) -> !stablehlo.token
  %4:2 = "stablehlo.infeed"(%t) <{infeed_config = "", layout = [[0, 1]]}> : (!stablehlo.token) -> (tensor<4x4xf32>, !stablehlo.token)
  %5 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @gathers(%a: tensor<4x4xf32>, %z: tensor<0x4xf32>) {
  // error: SH0207 dimension 2 of stablehlo.all_gather is out of range for tensor<4x4xf32>
  %0 = "stablehlo.all_gather"(%a) <{all_gather_dim = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x8xf32>
  // error: SH0207 stablehlo.all_gather of tensor<4x4xf32> gives tensor<6x4xf32>: size 6 of dimension 0 is not a multiple of 4
  %1 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<6x4xf32>
  // error: SH0207 result 0 of stablehlo.all_gather is tensor<8x5xf32>, expected tensor<8x4xf32>
  %2 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<8x5xf32>
  // error: SH0207 stablehlo.all_gather of tensor<0x4xf32> gives tensor<4x4xf32>: dimension 0 must not have size 0
  %3 = "stablehlo.all_gather"(%z) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<0x4xf32>) -> tensor<4x4xf32>
  // error: SH0214 stablehlo.all_gather has device 1 in its groups twice
  %4 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<8x4xf32>
  // error: SH0214 stablehlo.all_gather has device id 2, expected an id in 0..2
  %5 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 2]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<8x4xf32>
  // error: SH0214 stablehlo.all_gather has use_global_device_ids but no channel
  %6 = "stablehlo.all_gather"(%a) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids}> : (tensor<4x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

func.func @exchanges(%a: tensor<4x4xf32>, %b: tensor<5x4xf32>) {
  // error: SH0207 all_to_all splits into 4 parts, but its groups have 2 devices
  %0 = "stablehlo.all_to_all"(%a) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 4 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<1x16xf32>
  // error: SH0207 stablehlo.all_to_all splits dimension 0 of size 5 into 2 parts, but 5 is not divisible by 2
  %1 = "stablehlo.all_to_all"(%b) <{split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64, replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> : (tensor<5x4xf32>) -> tensor<2x8xf32>
  // error: SH0215 stablehlo.collective_permute has device 0 as source twice
  %2 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, 1], [0, 2]]> : tensor<2x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // error: SH0215 stablehlo.collective_permute has device id -1
  %3 = "stablehlo.collective_permute"(%a) <{source_target_pairs = dense<[[0, -1]]> : tensor<1x2xi64>}> : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // error: SH0207 stablehlo.reduce_scatter of tensor<4x4xf32> gives tensor<3x4xf32>: size 4 of dimension 0 is not a multiple of 3
  %4 = "stablehlo.reduce_scatter"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, scatter_dimension = 0 : i64}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    stablehlo.return %x : tensor<f32>
  }) : (tensor<4x4xf32>) -> tensor<3x4xf32>
  // error: SH0207 stablehlo.all_reduce combines elements of type f32 in i1, which cannot represent them
  %5 = "stablehlo.all_reduce"(%a) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %c = stablehlo.compare LT, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return
}

// -----

func.func @roots(%a: tensor<4xf32>, %r: tensor<2xi32>) {
  // error: SH0207 the root of stablehlo.collective_broadcast must be tensor<1xi32>, one number per tensor, got tensor<2xi32>
  %0 = "stablehlo.collective_broadcast"(%a, %r) <{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, has_dynamic_root}> : (tensor<4xf32>, tensor<2xi32>) -> tensor<4xf32>
  return
}

// -----

func.func @transfers(%a: tensor<4xf32>, %t: !stablehlo.token) {
  // error: SH0207 the channel type of stablehlo.send is device to host, but that of a transfer between devices must be device to device (type = 1)
  %0 = "stablehlo.send"(%a, %t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = false}> : (tensor<4xf32>, !stablehlo.token) -> !stablehlo.token
  // error: SH0207 operand 1 of stablehlo.send must be a token, got tensor<4xf32>
  %1 = "stablehlo.send"(%t, %a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (!stablehlo.token, tensor<4xf32>) -> !stablehlo.token
  // error: SH0207 the channel type of stablehlo.recv is device to host, but that of a host transfer must be host to device (type = 3)
  %2:2 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 2>, is_host_transfer = true}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  // error: SH0207 the last result of stablehlo.recv must be a token, got tensor<4xf32>
  %3 = "stablehlo.recv"(%t) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>}> : (!stablehlo.token) -> tensor<4xf32>
  // error: SH0207 infeed has 2 layouts for 1 tensors
  %4:2 = "stablehlo.infeed"(%t) <{infeed_config = "", layout = [[0], [0]]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  // error: SH0207 layout 0 of infeed must be a list of dimension numbers
  %5:2 = "stablehlo.infeed"(%t) <{infeed_config = "", layout = [0]}> : (!stablehlo.token) -> (tensor<4xf32>, !stablehlo.token)
  return
}

// -----

func.func @futures(%a: tensor<4xf32>, %f: !stablehlo.future<tensor<4xf32>>) {
  // error: SH0207 async_start must contain a collective or a slice, got stablehlo.negate
  %0 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %n = stablehlo.negate %x : tensor<4xf32>
    stablehlo.return %n : tensor<4xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  // error: SH0207 async_start gives !stablehlo.future<tensor<4xf32>>, expected !stablehlo.future<tensor<2xf32>>
  %1 = "stablehlo.async_start"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    %n = stablehlo.slice %x [0:2] : (tensor<4xf32>) -> tensor<2xf32>
    stablehlo.return %n : tensor<2xf32>
  }) : (tensor<4xf32>) -> !stablehlo.future<tensor<4xf32>>
  // error: SH0207 async_done of !stablehlo.future<tensor<4xf32>> gives tensor<4xi32>, expected tensor<4xf32>
  %2 = "stablehlo.async_done"(%f) : (!stablehlo.future<tensor<4xf32>>) -> tensor<4xi32>
  // error: SH0207 async_done expects a future, got tensor<4xf32>
  %3 = "stablehlo.async_done"(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

// error: SH0217 !stablehlo.future<f32> has the element f32, but the elements of a future must be tensors
func.func private @promise() -> !stablehlo.future<f32>
// error: SH0217 unknown type !stablehlo.promise
func.func private @unknown() -> !stablehlo.promise

// -----

func.func @customs(%a: tensor<4x8xf32>, %t: !stablehlo.token) {
  // error: SH0216 custom_call of @f has layouts of its operands but none of its results
  %0 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // error: SH0216 custom_call of @f has the layout [0, 2] for operand 0 of type tensor<4x8xf32>
  %1 = stablehlo.custom_call @f(%a) {operand_layouts = [dense<[0, 2]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // error: SH0216 custom_call of @f has 2 operands, but 1 operand layouts
  %2 = stablehlo.custom_call @f(%a, %t) {operand_layouts = [dense<[0, 1]> : tensor<2xindex>], result_layouts = [dense<[1, 0]> : tensor<2xindex>]} : (tensor<4x8xf32>, !stablehlo.token) -> tensor<4x8xf32>
  // error: SH0216 custom_call of @f aliases operand 1 in output_operand_aliases, but has 1 operands
  %3 = stablehlo.custom_call @f(%a) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 1, operand_tuple_indices = []>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // error: SH0216 custom_call of @f aliases an operand of type tensor<4x8xf32> with a result of type tensor<8x4xf32>: the types must be equal
  %4 = stablehlo.custom_call @f(%a) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // error: SH0216 custom_call of @f has no element 0 in the result of alias 0
  %5 = stablehlo.custom_call @f(%a) {output_operand_aliases = [#stablehlo.output_operand_alias<output_tuple_indices = [0], operand_index = 0, operand_tuple_indices = []>]} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // error: SH0216 custom_call of @f has a backend_config that is not a dictionary, as api_version 4 requires
  %6 = stablehlo.custom_call @f(%a) {api_version = 4 : i32, backend_config = "x"} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  // error: SH0216 custom_call of @f has a backend_config that is not a string, as api_version 2 requires
  %7 = stablehlo.custom_call @f(%a) {api_version = 2 : i32, backend_config = {x = 1 : i32}} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return
}
