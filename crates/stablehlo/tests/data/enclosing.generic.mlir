"builtin.module"() <{sym_name = "outer"}> ({
  sdy.mesh @mesh = <["x"=2]>
  "builtin.module"() ({
    "sdy.mesh"() <{mesh = #sdy.mesh<["y"=4]>, sym_name = "mesh"}> : () -> ()
    "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@mesh, [{"y"}]>}], function_type = (tensor<8xf32>) -> tensor<8xf32>, sym_name = "f"}> ({
    ^bb0(%arg0: tensor<8xf32>):
      %0 = "stablehlo.negate"(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
      "func.return"(%0) : (tensor<8xf32>) -> ()
    }) : () -> ()
  }) {c.d} : () -> ()
  module @second {
    func.func @g() {
      return
    }
  }
}) {a.b = 1 : i64} : () -> ()
