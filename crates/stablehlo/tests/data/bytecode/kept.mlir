module @outer attributes {x.a = 1 : i32} {
  "x.above"() <{sym_name = "above"}> : () -> ()
  module @inner {
    func.func @branches(%arg0: i1, %arg1: tensor<4xf32>) -> tensor<4xf32> {
      cf.cond_br %arg0, ^bb1(%arg1 : tensor<4xf32>), ^bb2(%arg1 : tensor<4xf32>)
    ^bb1(%0: tensor<4xf32>):  // pred: ^bb0
      %1 = stablehlo.negate %0 : tensor<4xf32>
      cf.br ^bb2(%1 : tensor<4xf32>)
    ^bb2(%2: tensor<4xf32>):  // 2 preds: ^bb0, ^bb1
      %cst = stablehlo.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]> : tensor<4xf32>
      %3:2 = "x.two"(%2, %cst) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, i1)
      return %3#0 : tensor<4xf32>
    }
    module @deep {
      "x.leaf"() : () -> ()
    }
    func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
      return %arg0 : tensor<4xf32>
    }
    "x.end"() {b} : () -> ()
  }
  "x.below"() : () -> ()
}
