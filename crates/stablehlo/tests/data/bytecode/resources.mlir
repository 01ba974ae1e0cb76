module @resources {
  func.func @main() -> tensor<3xf32> {
    %cst = stablehlo.constant dense_resource<weights> : tensor<3xf32>
    %c = stablehlo.constant dense_resource<"a b"> : tensor<2xi64>
    return %cst : tensor<3xf32>
  }
}

{-#
  dialect_resources: {
    builtin: {
      weights: "0x040000000000803F0000004000004040",
      "a b": "0x0800000001000000000000000200000000000000"
    }
  }
#-}
