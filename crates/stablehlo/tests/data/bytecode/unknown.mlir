#distinct = distinct[0]<1 : i32>
#distinct1 = distinct[1]<1 : i32>
#map = affine_map<(d0, d1) -> (d1, d0)>
module attributes {x.array = [1, 2 : i32, 1.500000e+00, "s", [], {}], x.bool = true, x.bools = array<i1: true, false>, x.bytes = array<i8>, x.complex = complex<f64>, x.dense = dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>, x.dict = {a = 1 : i32, "b c"}, x.distinct = [#distinct, #distinct1], x.empty = dense<> : tensor<0x2xi32>, x.f32 = 1.500000e+00 : f32, x.f64 = 2.500000e+00 : f64, x.floats = array<f32: 1.500000e+00, -0.000000e+00>, x.function = (i32, f32) -> (), x.half = 1.000000e+00 : bf16, x.i32 = 7 : i32, x.i64 = -7 : i64, x.i8 = -1 : i8, x.index = 5 : index, x.inf = 0x7F800000 : f32, x.ints = array<i64: 1, -2>, x.map = #map, x.memref = memref<2x?xf32>, x.negative = -170141183460469231731687303715884105728 : i128, x.none = none, x.odd = 99 : i17, x.odds = dense<[1, -2]> : tensor<2xi17>, x.own = #x.attr<"text", 1>, x.same = dense<"s"> : tensor<3x!x.text>, x.scalable = vector<2x[4]xi8>, x.second = () -> (() -> i1), x.si = -3 : si16, x.sparse = sparse<[[0, 1], [1, 0]], [1.000000e+00, 2.000000e+00]> : tensor<2x2xf32>, x.strided = memref<2x3xf32, strided<[1, 2]>, 3 : i32>, x.string = "a\22\\\0A\E2\82\AC\FF", x.strings = dense<["a", "b"]> : tensor<2x!x.text>, x.symbol = @a::@b::@"c d", x.tuple = tuple<i32, tuple<>>, x.type = tensor<?x2xf32>, x.typed = "t" : !x.text, x.ui = 200 : ui8, x.unit, x.unranked = memref<*xf32>, x.vector = dense<1.000000e+00> : vector<4xf32>, x.wide = -1 : i128} {
  func.func @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0:2 = "x.operation"(%arg0) <{inherent = 3 : i32}> ({
    ^bb0(%arg1: !x.type<i32>):
      "x.end"(%arg1) : (!x.type<i32>) -> ()
    }, {
    }) {discardable = "d", x.large = dense<"0x000102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F202122232425262728292A2B2C2D2E2F303132333435363738393A3B3C3D3E3F404142434445464748494A4B4C4D4E4F505152535455565758595A5B5C5D5E5F606162636465666768"> : tensor<105xi8>} : (tensor<4xf32>) -> (tensor<4xf32>, !x.type<i32>)
    "x.last"(%0#1) : (!x.type<i32>) -> ()
    return %0#0 : tensor<4xf32>
  }
}
