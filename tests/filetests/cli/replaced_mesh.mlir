// --mesh replaces the program's mesh: axes are matched by name, in any order; additional axes are permitted.
// RUN: shardc partition %s -o - --mesh y=2,x=3 --manifest %t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=MANIFEST --input-file=%t.json
// RUN: shardc propagate %s --mesh x=2,z=5,y=1 | FileCheck %s --check-prefix=MORE
// RUN: shardc partition %s -o - --mesh x=3,y=2 --spec arg1=x | FileCheck %s --check-prefix=SPEC
// RUN: not shardc partition %s -o - --mesh x=4 2>&1 | FileCheck %s --check-prefix=LACKS
// RUN: shardc partition %s -o - --mesh x=4 2> %t.err; test $? = 2

sdy.mesh @mesh = <["x"=4, "y"=2]> {stablehlo.mesh = {axes = [{name = "x", size = 4 : i64}, {name = "y", size = 2 : i64}]}}

// Devices 0 to 2 have the first half of the columns, since y is the major axis.
// CHECK: func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<4xf32>) -> tensor<4x3xf32>
// MANIFEST: "name": "x"
// MANIFEST-NEXT: "size": 3
// MANIFEST: "name": "y"
// MANIFEST-NEXT: "size": 2
// MANIFEST: "device_ids": [
// MANIFEST-NEXT: 0,
// MANIFEST-NEXT: 3,
// MANIFEST-NEXT: 1,
// MORE: sdy.mesh @mesh = <["x"=2, "y"=1, "z"=5]>
// MORE-NOT: stablehlo.mesh
// SPEC: func.func @main(%arg0: tensor<4x3xf32>, %arg1: tensor<2xf32>)
// LACKS: error[SH0337]: the mesh x=4 lacks axis 'y' of the module's mesh @mesh
// LACKS: = help: add y=1 to shard nothing along it
func.func @main(%a: tensor<12x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}, %b: tensor<4xf32>) -> tensor<12x6xf32> {
  %0 = stablehlo.tanh %a : tensor<12x6xf32>
  return %0 : tensor<12x6xf32>
}
