// A manual computation in a loop, with a loop in it whose steps send to a neighbour, and a branch by the coordinate in
// which the devices that take it meet.
sdy.mesh @mesh = <["s"=4, "d"=2]>
func.func @main(%x: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"s"}, {"d"}]>}) -> tensor<8x6xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<8x6xf32>
  cond {
    %n = stablehlo.constant dense<2> : tensor<i32>
    %more = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %1 = sdy.manual_computation(%v) in_shardings=[<@mesh, [{"s"}, {"d"}]>] out_shardings=[<@mesh, [{"s"}, {"d"}]>] manual_axes={"s", "d"} (%a: tensor<2x3xf32>) {
      %c0 = stablehlo.constant dense<0> : tensor<i32>
      %c1 = stablehlo.constant dense<1> : tensor<i32>
      %two = stablehlo.constant dense<2> : tensor<ui32>
      %id = stablehlo.partition_id : tensor<ui32>
      %stage = stablehlo.divide %id, %two : tensor<ui32>
      %s = stablehlo.convert %stage : (tensor<ui32>) -> tensor<i32>
      %2 = "stablehlo.case"(%s) ({
        %m = "stablehlo.all_reduce"(%a) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3], [4, 5], [6, 7]]> : tensor<4x2xi64>, use_global_device_ids}> ({
        ^bb0(%l: tensor<f32>, %r: tensor<f32>):
          %sum = stablehlo.add %l, %r : tensor<f32>
          stablehlo.return %sum : tensor<f32>
        }) : (tensor<2x3xf32>) -> tensor<2x3xf32>
        stablehlo.return %m : tensor<2x3xf32>
      }, {
        %m = stablehlo.negate %a : tensor<2x3xf32>
        stablehlo.return %m : tensor<2x3xf32>
      }) : (tensor<i32>) -> tensor<2x3xf32>
      %3:2 = stablehlo.while(%j = %c0, %w = %2) : tensor<i32>, tensor<2x3xf32>
      cond {
        %n = stablehlo.constant dense<3> : tensor<i32>
        %more = stablehlo.compare LT, %j, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %more : tensor<i1>
      } do {
        %sent = "stablehlo.collective_permute"(%w) <{channel_handle = #stablehlo.channel_handle<handle = 2, type = 1>, source_target_pairs = dense<[[0, 2], [2, 4], [4, 6], [1, 3], [3, 5], [5, 7]]> : tensor<6x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %next = stablehlo.subtract %w, %sent : tensor<2x3xf32>
        %k = stablehlo.add %j, %c1 : tensor<i32>
        stablehlo.return %k, %next : tensor<i32>, tensor<2x3xf32>
      }
      sdy.return %3#1 : tensor<2x3xf32>
    } : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %i2 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %i2, %1 : tensor<i32>, tensor<8x6xf32>
  }
  return %0#1 : tensor<8x6xf32>
}
