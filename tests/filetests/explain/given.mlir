// Annotations from the command line, and argument names from the front end.
// RUN: shardc explain %s --mesh data=4 --spec arg0=data,- --value "params['w']" | FileCheck %s
// RUN: shardc explain %s --mesh data=4 --spec arg0=data,- --arg 0 --json - | FileCheck %s --check-prefix=JSON
// RUN: shardc explain %s --mesh data=4 --spec arg0=data,- --html - | FileCheck %s --check-prefix=HTML

// CHECK: %a (params['w']): tensor<8x4xf32>, sharded [{"data"}, {}]
// CHECK: dimension 0 is sharded along "data", from argument 0 %a (params['w']), by an option

// JSON: "version": 1
// JSON: "name": "%a"
// JSON: "origin": "argument 0 %a (params['w']), by an option"

// HTML: <!doctype html>
// HTML: "params['w']"
// HTML: "%a"
// HTML: </html>
func.func @main(%a: tensor<8x4xf32> loc("params['w']")) -> tensor<8x4xf32> {
  %0 = stablehlo.negate %a : tensor<8x4xf32>
  return %0 : tensor<8x4xf32>
}
