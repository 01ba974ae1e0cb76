// Quantized numbers travel as the integers that are stored; arithmetic on parts of them is that on the real numbers.
!q = !quant.uniform<i8:f32, 0.01:3>
!r = !quant.uniform<i8:f32, 0.125:-5>
!w = !quant.uniform<i8<-127:127>:f32:1, {0.01, 0.02, 0.005, 0.03}>
!sum = !quant.uniform<i32:f32:2, {0.0001, 0.0002, 0.00005, 0.0003}>

sdy.mesh @mesh = <["x"=2, "y"=2]>

func.func @main(%x: tensor<6x8x10xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %i: tensor<2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}, %s: tensor<i32>,
    %u: tensor<1x8x10x!q> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>}, %w: tensor<10x4x!w>)
    -> (tensor<2x8x10xf32>, tensor<6x8x10x!r>, tensor<6x8x4xf32>, tensor<8x10x!q>, tensor<6x8x10x!q>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %none = stablehlo.constant dense<3> : tensor<i8>
  %init = stablehlo.bitcast_convert %none : (tensor<i8>) -> tensor<!q>
  %q = stablehlo.uniform_quantize %x : (tensor<6x8x10xf32>) -> tensor<6x8x10x!q>
  %0 = "stablehlo.gather"(%q, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1, 2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 8, 10>}> : (tensor<6x8x10x!q>, tensor<2xi32>) -> tensor<2x8x10x!q>
  %1 = stablehlo.uniform_dequantize %0 : (tensor<2x8x10x!q>) -> tensor<2x8x10xf32>
  %2 = stablehlo.add %q, %q : (tensor<6x8x10x!q>, tensor<6x8x10x!q>) -> tensor<6x8x10x!r>
  %p = stablehlo.dot_general %q, %w, contracting_dims = [2] x [0] : (tensor<6x8x10x!q>, tensor<10x4x!w>) -> tensor<6x8x4x!sum>
  %3 = stablehlo.uniform_dequantize %p : (tensor<6x8x4x!sum>) -> tensor<6x8x4xf32>
  %4 = stablehlo.reduce(%q init: %init) across dimensions = [0] : (tensor<6x8x10x!q>, tensor<!q>) -> tensor<8x10x!q>
    reducer(%a: tensor<!q>, %b: tensor<!q>) {
      %m = stablehlo.maximum %a, %b : tensor<!q>
      stablehlo.return %m : tensor<!q>
    }
  %5 = stablehlo.dynamic_update_slice %q, %u, %s, %zero, %zero : (tensor<6x8x10x!q>, tensor<1x8x10x!q>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<6x8x10x!q>
  return %1, %2, %3, %4, %5 : tensor<2x8x10xf32>, tensor<6x8x10x!r>, tensor<6x8x4xf32>, tensor<8x10x!q>, tensor<6x8x10x!q>
}
