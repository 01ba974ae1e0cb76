// What is gathered along its second dimension comes right from a transform. XLA's CPU back end wants that dimension first
// there, and would have the transform write it so, which its own transform cannot.
sdy.mesh @mesh = <["x"=2, "y"=2]>
func.func @main(%re: tensor<4x4x2xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>},
    %im: tensor<4x4x2xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>})
    -> (tensor<8x4x2xf64> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {}]>}) {
  %0 = stablehlo.complex %re, %im : tensor<4x4x2xcomplex<f64>>
  %1 = sdy.sharding_constraint %0 <@mesh, [{}, {"x", "y"}, {}]> : tensor<4x4x2xcomplex<f64>>
  %2 = sdy.manual_computation(%1) in_shardings=[<@mesh, [{}, {"y"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}, {}]>] manual_axes={"x", "y"} (%a: tensor<4x2x2xcomplex<f64>>) {
    %3 = stablehlo.fft %a, type = IFFT, length = [2, 2] : (tensor<4x2x2xcomplex<f64>>) -> tensor<4x2x2xcomplex<f64>>
    %4 = "stablehlo.all_gather"(%3) <{all_gather_dim = 1 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> : (tensor<4x2x2xcomplex<f64>>) -> tensor<4x4x2xcomplex<f64>>
    sdy.return %4 : tensor<4x4x2xcomplex<f64>>
  } : (tensor<4x4x2xcomplex<f64>>) -> tensor<8x4x2xcomplex<f64>>
  %5 = stablehlo.real %2 : (tensor<8x4x2xcomplex<f64>>) -> tensor<8x4x2xf64>
  return %5 : tensor<8x4x2xf64>
}
