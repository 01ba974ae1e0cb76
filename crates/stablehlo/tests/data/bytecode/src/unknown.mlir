// Operations, attributes and types of unregistered dialects, and builtin attributes of all kinds.
module attributes {
    x.unit, x.bool = true, x.i8 = -1 : i8, x.i32 = 7 : i32, x.i64 = -7 : i64, x.ui = 200 : ui8, x.si = -3 : si16, x.index = 5 : index,
    x.wide = 340282366920938463463374607431768211455 : i128, x.negative = -170141183460469231731687303715884105728 : i128, x.odd = 99 : i17,
    x.f32 = 1.5 : f32, x.f64 = 2.5 : f64, x.inf = 0x7F800000 : f32, x.half = 1.0 : bf16,
    x.string = "a\22\\\0A\E2\82\AC\FF", x.typed = "t" : !x.text, x.symbol = @a::@b::@"c d", x.type = tensor<?x2xf32>, x.function = (i32, f32) -> (), x.second = () -> (() -> i1),
    x.array = [1, 2 : i32, 1.5, "s", [], {}], x.dict = {a = 1 : i32, "b c" = unit}, x.dense = dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>,
    x.vector = dense<1.0> : vector<4xf32>, x.scalable = vector<2x[4]xi8>, x.memref = memref<2x?xf32>, x.strided = memref<2x3xf32, strided<[1, 2]>, 3 : i32>,
    x.unranked = memref<*xf32>, x.tuple = tuple<i32, tuple<>>, x.none = none, x.complex = complex<f64>, x.ints = array<i64: 1, -2>, x.bytes = array<i8>, x.bools = array<i1: true, false>,
    x.floats = array<f32: 1.5, -0.0>, x.strings = dense<["a", "b"]> : tensor<2x!x.text>, x.same = dense<"s"> : tensor<3x!x.text>,
    x.sparse = sparse<[[0, 1], [1, 0]], [1.0, 2.0]> : tensor<2x2xf32>, x.empty = dense<> : tensor<0x2xi32>, x.odds = dense<[1, -2]> : tensor<2xi17>,
    x.distinct = [distinct[0]<1 : i32>, distinct[1]<1 : i32>], x.own = #x.attr<"text", 1>, x.map = affine_map<(d0, d1) -> (d1, d0)>
  } {
  func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0:2 = "x.operation"(%a) <{inherent = 3 : i32}> ({
    ^bb0(%arg: !x.type<i32>):
      "x.end"(%arg) : (!x.type<i32>) -> ()
    }, {
    }) {discardable = "d", x.large = dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768"> : tensor<105xi8>} : (tensor<4xf32>) -> (tensor<4xf32>, !x.type<i32>)
    "x.last"(%0#1) : (!x.type<i32>) -> ()
    return %0#0 : tensor<4xf32>
  }
}
