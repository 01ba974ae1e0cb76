// error: SH0107 a key of a VHLO dictionary must be a VHLO attribute: expected `#vhlo`
func.func @key() attributes {a = #vhlo.dict_v1<{"key" = #vhlo.bool_v1<true>}>} {
  return
}

// -----

// error: SH0107 a VHLO attribute can contain only VHLO attributes: expected `#vhlo`
func.func @value() attributes {a = #vhlo.array_v1<[#vhlo.bool_v1<true>, #stablehlo.bounds<4, ?>]>} {
  return
}

// -----

func.func @id(%a: tensor<i64>) -> tensor<i64> {
  return %a : tensor<i64>
}
func.func @feed() -> (tensor<i64>, tensor<i64>) {
  %0 = stablehlo.constant dense<1> : tensor<i64>
  return %0, %0 : tensor<i64>, tensor<i64>
}
func.func @main(%a: tensor<i64>) {
  %0:2 = "interpreter.run_parallel"(%a, %a) <{programs = [[@id], [@id]]}> : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  // error: SH0216 interpreter.run_parallel has 2 inputs, but its programs have 1
  %1 = "interpreter.run_parallel"(%a, %a) <{programs = [[@id]]}> : (tensor<i64>, tensor<i64>) -> tensor<i64>
  // error: SH0216 interpreter.run_parallel has the infeed function @feed, which must return one tensor
  %2 = "interpreter.run_parallel"(%a) <{programs = [[@id]], infeed = [@feed]}> : (tensor<i64>) -> tensor<i64>
  // error: SH0216 interpreter.run_parallel has no programs
  "interpreter.run_parallel"() <{programs = [[]]}> : () -> ()
  // error: SH0216 interpreter.run_parallel refers to @none, which is not a function of the module
  "interpreter.run_parallel"() <{programs = [[@none]]}> : () -> ()
  return
}

// -----

func.func @id(%a: tensor<i64>) -> tensor<i64> {
  return %a : tensor<i64>
}
func.func @main(%a: tensor<i64>) attributes {a = #vhlo.dict_v1<{#vhlo.string_v1<"#key"> = #vhlo.array_v1<[]>}>} {
  %0:2 = "interpreter.run_parallel"(%a, %a) <{programs = [[
    @id,
    @id
  ]]}> : (tensor<i64>, tensor<i64>) -> (tensor<i64>, tensor<i64>)
  return
}
