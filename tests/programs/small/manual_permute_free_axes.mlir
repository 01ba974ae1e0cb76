// In a manual computation the free axes change places; devices of the other manual coordinate hold other values. The
// devices are not in the order of the mesh.
sdy.mesh @mesh = <["m"=2, "a"=2, "b"=2], device_ids=[7, 1, 5, 3, 0, 2, 4, 6]>
func.func @main(%x: tensor<8x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"m", "a"}, {"b"}]>}) -> tensor<8x8xf32> {
  %0 = sdy.manual_computation(%x) in_shardings=[<@mesh, [{"m", "a"}, {"b"}]>] out_shardings=[<@mesh, [{"m", "b"}, {"a"}]>] manual_axes={"m"} (%p: tensor<4x8xf32>) {
    %1 = "stablehlo.all_reduce"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[7, 0], [1, 2], [5, 4], [3, 6]]> : tensor<4x2xi64>, use_global_device_ids}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %s = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %s : tensor<f32>
    }) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %2 = stablehlo.subtract %p, %1 : tensor<4x8xf32>
    %3 = stablehlo.sine %2 : tensor<4x8xf32>
    sdy.return %3 : tensor<4x8xf32>
  } : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0 : tensor<8x8xf32>
}
