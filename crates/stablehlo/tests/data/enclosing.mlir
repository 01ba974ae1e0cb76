module @outer attributes {a.b = 1 : i64} {
  sdy.mesh @mesh = <["x"=2]>
  module attributes {c.d} {
    sdy.mesh @mesh = <["y"=4]>
    func.func @f(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}) -> tensor<8xf32> {
      %0 = stablehlo.negate %arg0 : tensor<8xf32>
      return %0 : tensor<8xf32>
    }
  }
  module @second {
    func.func @g() {
      return
    }
  }
}
