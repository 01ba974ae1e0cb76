// Who asks for its number where some axes are free is told that of the first of the devices that are one to it.
sdy.mesh @mesh = <["f"=2, "m"=2, "g"=2], device_ids=[3, 1, 7, 5, 0, 2, 4, 6]>
sdy.mesh @plain = <["f"=2, "m"=2, "g"=2]>
func.func @main(%x: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@plain, [{"m"}, {"f"}]>}) -> (tensor<8x4xf32>, tensor<2xui32>, tensor<2xui32>) {
  %0:2 = sdy.manual_computation(%x) in_shardings=[<@plain, [{"m"}, {"f"}]>] out_shardings=[<@plain, [{"m"}, {"f"}]>, <@plain, [{"m"}]>] manual_axes={"m"} (%p: tensor<4x4xf32>) {
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.reshape %1 : (tensor<ui32>) -> tensor<1xui32>
    %3 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<f32>
    %4 = stablehlo.broadcast_in_dim %3, dims = [] : (tensor<f32>) -> tensor<4x4xf32>
    %5 = stablehlo.add %p, %4 : tensor<4x4xf32>
    sdy.return %5, %2 : tensor<4x4xf32>, tensor<1xui32>
  } : (tensor<8x4xf32>) -> (tensor<8x4xf32>, tensor<2xui32>)
  %6 = sdy.manual_computation() in_shardings=[] out_shardings=[<@mesh, [{"m"}]>] manual_axes={"m"} () {
    %1 = stablehlo.partition_id : tensor<ui32>
    %2 = stablehlo.reshape %1 : (tensor<ui32>) -> tensor<1xui32>
    sdy.return %2 : tensor<1xui32>
  } : () -> tensor<2xui32>
  return %0#0, %0#1, %6 : tensor<8x4xf32>, tensor<2xui32>, tensor<2xui32>
}
