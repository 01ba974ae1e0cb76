// Constants whose elements are resources at the end of the file.
module @resources {
  func.func @main() -> tensor<3xf32> {
    %0 = stablehlo.constant dense_resource<weights> : tensor<3xf32>
    %1 = stablehlo.constant dense_resource<"a b"> : tensor<2xi64>
    return %0 : tensor<3xf32>
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
