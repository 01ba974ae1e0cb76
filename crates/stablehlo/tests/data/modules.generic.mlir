"builtin.module"() <{sym_name = "the module"}> ({
  ml_program.global private @counter(dense<4> : tensor<4xi32>) : tensor<4xi32>
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=2]>, sym_name = "before"}> : () -> ()
  module @library attributes {c.d} {
    // Kept with its comments: { ( "
    sdy.mesh @before = <["y"=4]>
    func.func @in_library(%arg0: tensor<f32>) -> tensor<f32> {
      return %arg0 : tensor<f32>
    }
  }
  "sdy.mesh"() <{mesh = #sdy.mesh<["x"=4]>, sym_name = "after"}> : () -> ()
  "func.func"() <{arg_attrs = [{sdy.sharding = #sdy.sharding<@below, [{"z"}]>}], function_type = (tensor<8xf32>) -> tensor<8xf32>, sym_name = "main", sym_visibility = "public"}> ({
  ^bb0(%arg1: tensor<8xf32>):
    %0 = "func.call"(%arg1) <{callee = @branches}> : (tensor<8xf32>) -> tensor<8xf32>
    "func.return"(%0) : (tensor<8xf32>) -> ()
  }) : () -> ()
  func.func nested @branches(%x: tensor<8xf32>) -> tensor<8xf32> {
    cf.br ^bb1(%x : tensor<8xf32>)
  ^bb1(%y: tensor<8xf32>):
    return %y : tensor<8xf32>
  }
  "func.func"() <{function_type = () -> (), sym_name = "plain", sym_visibility = "nested"}> ({
    "func.return"() : () -> ()
  }) : () -> ()
  "func.func"() <{function_type = (tensor<f32>) -> tensor<f32>, sym_name = "stablehlo_terminator"}> ({
  ^bb0(%arg0: tensor<f32>):
    "stablehlo.return"(%arg0) : (tensor<f32>) -> ()
  }) : () -> ()
  "func.func"() <{arg_attrs = [{a.b = "x"}, {}], function_type = (tensor<8xf32>, i32) -> (tensor<8xf32>, i32), res_attrs = [{a.c}, {}], sym_name = "quoted name", sym_visibility = "private"}> ({
  }) : () -> ()
  func.func private @foreign(%x: f32) -> f32 {
    %y = math.fma %x, %x, %x : f32
    return %y : f32
  }
  "sdy.mesh"() <{mesh = #sdy.mesh<["z"=2]>, sym_name = "below"}> : () -> ()
  "test.op"() <{a = #test.attr<"x", 1>, sym_name = "test"}> ({
    func.func @inside() {
      return
    }
  }) {b = !test.type<2x?>} : () -> ()
}) {a.b = 1 : i64} : () -> ()
