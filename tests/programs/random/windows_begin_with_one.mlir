// Windows whose initial value counts: without padding, padded, and of a tensor that the program pads. Back ends do not
// count the padding, the specification does; devices must do as one device does.
sdy.mesh @mesh = <["x"=4]>
func.func @main(%a: tensor<24xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>})
    -> (tensor<22xi32>, tensor<24xi32>, tensor<24xi32>, tensor<24xi32>) {
  %one = stablehlo.constant dense<1> : tensor<i32>
  %0 = "stablehlo.reduce_window"(%a, %one) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.add %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<24xi32>, tensor<i32>) -> tensor<22xi32>
  %1 = "stablehlo.reduce_window"(%a, %one) <{padding = dense<[[2, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 3>}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.add %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<24xi32>, tensor<i32>) -> tensor<24xi32>
  %padded = stablehlo.pad %a, %one, low = [1], high = [1], interior = [0] : (tensor<24xi32>, tensor<i32>) -> tensor<26xi32>
  %2 = "stablehlo.reduce_window"(%padded, %one) <{window_dimensions = array<i64: 3>}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.add %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<26xi32>, tensor<i32>) -> tensor<24xi32>
  %3 = "stablehlo.reduce_window"(%a, %one) <{padding = dense<[[23, 0]]> : tensor<1x2xi64>, window_dimensions = array<i64: 24>}> ({
  ^bb0(%l: tensor<i32>, %r: tensor<i32>):
    %s = stablehlo.add %l, %r : tensor<i32>
    stablehlo.return %s : tensor<i32>
  }) : (tensor<24xi32>, tensor<i32>) -> tensor<24xi32>
  return %0, %1, %2, %3 : tensor<22xi32>, tensor<24xi32>, tensor<24xi32>, tensor<24xi32>
}
