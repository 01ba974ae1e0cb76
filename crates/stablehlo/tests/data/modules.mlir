module @"the module" attributes {a.b = 1 : i64} {
  ml_program.global private @counter(dense<4> : tensor<4xi32>) : tensor<4xi32>
  sdy.mesh @before = <["x"=2]>
  module @library attributes {c.d} {
    // Kept with its comments: { ( "
    sdy.mesh @before = <["y"=4]>
    func.func @in_library(%arg0: tensor<f32>) -> tensor<f32> {
      return %arg0 : tensor<f32>
    }
  }
  sdy.mesh @after = <["x"=4]>
  func.func public @main(%arg0: tensor<8xf32> {sdy.sharding = #sdy.sharding<@below, [{"z"}]>}) -> tensor<8xf32> {
    %0 = call @branches(%arg0) : (tensor<8xf32>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  }
  func.func nested @branches(%x: tensor<8xf32>) -> tensor<8xf32> {
    cf.br ^bb1(%x : tensor<8xf32>)
  ^bb1(%y: tensor<8xf32>):
    return %y : tensor<8xf32>
  }
  func.func nested @plain() {
    return
  }
  func.func @stablehlo_terminator(%arg0: tensor<f32>) -> tensor<f32> {
    stablehlo.return %arg0 : tensor<f32>
  }
  func.func private @"quoted name"(tensor<8xf32> {a.b = "x"}, i32) -> (tensor<8xf32> {a.c}, i32)
  func.func private @foreign(%x: f32) -> f32 {
    %y = math.fma %x, %x, %x : f32
    return %y : f32
  }
  sdy.mesh @below = <["z"=2]>
  "test.op"() <{a = #test.attr<"x", 1>, sym_name = "test"}> ({
    func.func @inside() {
      return
    }
  }) {b = !test.type<2x?>} : () -> ()
}
