// A manual computation over a part of what is one axis on the mesh around it.
sdy.mesh @flat = <["x"=8]>
sdy.mesh @mesh = <["m"=4, "f"=2]>
func.func @main(%x: tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@flat, [{"x"}, {}]>}) -> (tensor<16x8xf32> {sdy.sharding = #sdy.sharding<@flat, [{}, {"x"}]>}) {
  %0 = stablehlo.sine %x : tensor<16x8xf32>
  %1 = sdy.manual_computation(%0) in_shardings=[<@mesh, [{"m"}, {"f"}]>] out_shardings=[<@mesh, [{"m"}, {"f"}]>] manual_axes={"m"} (%p: tensor<4x8xf32>) {
    %2 = "stablehlo.collective_permute"(%p) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 2], [2, 4], [4, 6], [1, 3], [3, 5], [5, 7]]> : tensor<6x2xi64>}> : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %3 = stablehlo.subtract %p, %2 : tensor<4x8xf32>
    sdy.return %3 : tensor<4x8xf32>
  } : (tensor<16x8xf32>) -> tensor<16x8xf32>
  %4 = stablehlo.negate %1 : tensor<16x8xf32>
  return %4 : tensor<16x8xf32>
}
