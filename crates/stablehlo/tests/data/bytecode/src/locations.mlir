// Locations of all kinds, on operations, arguments and the module.
#loc1 = loc("model.py":3:4)
#loc2 = loc("model.py":5:6 to :9)
#loc3 = loc("model.py":5:6 to 7:8)
#call = loc(callsite(#loc1 at #loc2))
#name = loc("jit(f)/dot"(#call))
#bare = loc("alone")
#fused = loc(fused[#loc1, #name])
#meta = loc(fused<{a = 1 : i32}>[#loc3, unknown])
module @locations {
  func.func @main(%a: tensor<4xf32> loc("a"(#loc1)), %b: tensor<4xf32> loc(unknown)) -> tensor<4xf32> {
    %0 = stablehlo.add %a, %b : tensor<4xf32> loc(#name)
    %1 = stablehlo.multiply %0, %b : tensor<4xf32> loc(#fused)
    %2 = stablehlo.tanh %1 : tensor<4xf32> loc(#meta)
    %3 = stablehlo.negate %2 : tensor<4xf32> loc(#bare)
    %4 = stablehlo.abs %3 : tensor<4xf32> loc(#loc3)
    %5 = stablehlo.abs %4 : tensor<4xf32> loc(#loc2)
    %6 = stablehlo.constant dense<0.0> : tensor<f32> loc(unknown)
    %7 = "stablehlo.reduce"(%5, %6) <{dimensions = array<i64: 0>}> ({
    ^bb0(%x: tensor<f32> loc("x"), %y: tensor<f32> loc(#loc1)):
      %9 = stablehlo.add %x, %y : tensor<f32> loc("deep"(callsite("f"("g"(#loc1)) at #call)))
      stablehlo.return %9 : tensor<f32> loc(#loc1)
    }) : (tensor<4xf32>, tensor<f32>) -> tensor<f32> loc(#loc2)
    return %5 : tensor<4xf32> loc("a \22quoted\22 name")
  } loc(#call)
} loc(#loc1)
