// Branches, loops, functions, tuples.

func.func @fits(%p: tensor<i1>, %i: tensor<i32>, %a: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    %n = stablehlo.negate %a : tensor<4xf32>
    stablehlo.return %n : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  %1 = stablehlo.while(%x = %0) : tensor<4xf32> cond {
    stablehlo.return %p : tensor<i1>
  } do {
    stablehlo.return %x : tensor<4xf32>
  }
  %2 = call @other(%1) : (tensor<4xf32>) -> tensor<4xf32>
  %3 = stablehlo.composite "space.op" %2 {decomposition = @other} : (tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}
func.func private @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

func.func @branches(%p: tensor<i32>, %q: tensor<2xi1>, %t: tensor<i1>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // error: SH0207 operand 0 of stablehlo.if must be i1, got i32
  %0 = "stablehlo.if"(%p) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  // error: SH0207 operand 0 of stablehlo.if must be a scalar, got tensor<2xi1>
  %1 = "stablehlo.if"(%q) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<2xi1>) -> tensor<4xf32>
  // error: SH0208 returned value 0 of region 1 of stablehlo.if is tensor<5xf32>, expected tensor<4xf32>
  %2 = "stablehlo.if"(%t) ({
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %b : tensor<5xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  // error: SH0207 operand 0 of stablehlo.case must be i32, got i1
  %3 = "stablehlo.case"(%t) ({
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  // error: SH0207 stablehlo.case has 1 results, expected 2
  %4 = "stablehlo.case"(%p) ({
    stablehlo.return %a, %a : tensor<4xf32>, tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  return
}

// -----

func.func @loops(%p: tensor<i1>, %q: tensor<2xi1>, %a: tensor<4xf32>, %b: tensor<5xf32>) {
  // error: SH0208 returned value 0 of region 0 of stablehlo.while is tensor<2xi1>, expected tensor<i1>
  %0 = "stablehlo.while"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %q : tensor<2xi1>
  }, {
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  // error: SH0208 returned value 0 of region 1 of stablehlo.while is tensor<5xf32>, expected tensor<4xf32>
  %1 = "stablehlo.while"(%a) ({
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<4xf32>):
    stablehlo.return %b : tensor<5xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  // error: SH0208 region 0 of stablehlo.while has 2 arguments, expected 1
  // error: SH0208 argument 0 of region 1 of stablehlo.while is tensor<4xi32>, expected tensor<4xf32>
  %2 = "stablehlo.while"(%a) ({
  ^bb0(%x: tensor<4xf32>, %y: tensor<4xf32>):
    stablehlo.return %p : tensor<i1>
  }, {
  ^bb0(%x: tensor<4xi32>):
    stablehlo.return %a : tensor<4xf32>
  }) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // error: SH0207 there is no function @none
  %0 = call @none(%a) : (tensor<4xf32>) -> tensor<4xf32>
  // error: SH0207 result 0 of func.call is tensor<5xf32>, expected tensor<4xf32>
  %1 = call @other(%a) : (tensor<4xf32>) -> tensor<5xf32>
  // error: SH0210 the call of @other has 2 operands, expected 1
  %2 = "func.call"(%a, %a) <{callee = @other}> : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // error: SH0210 operand 0 of the call of @wide is tensor<4xf32>, expected tensor<8xf32>
  %3 = call @wide(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
func.func private @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}
func.func private @wide(%a: tensor<8xf32>) -> tensor<4xf32>

// -----

func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
  // error: SH0210 @main calls itself, directly or indirectly
  %0 = call @main(%a) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%a: tensor<4xf32>) {
  // error: SH0210 "op" is not a valid name of a composite
  %0 = stablehlo.composite "op" %a {decomposition = @other} : (tensor<4xf32>) -> tensor<4xf32>
  // error: SH0210 the decomposition @none of space.op is not a function of the module
  %1 = stablehlo.composite "space.op" %a {decomposition = @none} : (tensor<4xf32>) -> tensor<4xf32>
  // error: SH0210 space.op has 2 operands, but its decomposition @other has 1
  %2 = stablehlo.composite "space.op" %a, %a {decomposition = @other} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // error: SH0210 result 0 of space.op is tensor<4xf64>, but that of its decomposition @other is tensor<4xf32>
  %3 = stablehlo.composite "space.op" %a {decomposition = @other} : (tensor<4xf32>) -> tensor<4xf64>
  return
}
func.func private @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  return %a : tensor<4xf32>
}

// -----

func.func @tuples(%a: tensor<4xf32>, %t: tuple<tensor<4xf32>, tensor<i32>>) {
  // error: SH0207 a tuple of 2 elements has no element 2
  %0 = stablehlo.get_tuple_element %t[2] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<i32>
  // error: SH0207 result 0 of stablehlo.get_tuple_element is tensor<4xf32>, expected tensor<i32>
  %1 = stablehlo.get_tuple_element %t[1] : (tuple<tensor<4xf32>, tensor<i32>>) -> tensor<4xf32>
  // error: SH0207 the operand of get_tuple_element must be a tuple
  %2 = "stablehlo.get_tuple_element"(%a) <{index = 0 : i32}> : (tensor<4xf32>) -> tensor<4xf32>
  // error: SH0207 result 0 of stablehlo.tuple is tuple<tensor<4xf32>, tensor<4xf64>>, expected the tuple of its operands
  %3 = "stablehlo.tuple"(%a, %a) : (tensor<4xf32>, tensor<4xf32>) -> tuple<tensor<4xf32>, tensor<4xf64>>
  return
}

// -----

func.func @same() {
  return
}
// error: SH0103 the function @same is defined twice
func.func @same() {
  return
}
