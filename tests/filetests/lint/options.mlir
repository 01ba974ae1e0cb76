// Selection of rules, exit codes, output formats, and invalid options.
// RUN: shardc lint --list | FileCheck %s --check-prefix=LIST
// RUN: shardc lint %s
// RUN: shardc lint %s --deny all > %t.txt; test $? = 1
// RUN: shardc lint %s --deny all --allow SH0902
// RUN: not shardc lint %s --deny unused-axis 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: shardc lint %s --deny unused-axis 2> %t.err; test $? = 2
// RUN: shardc lint %s --min-bytes lots 2> %t.err; test $? = 2
// RUN: shardc lint 2> %t.err; test $? = 2
// RUN: shardc lint %s --format json | FileCheck %s --check-prefix=JSON
// RUN: shardc lint - --json < %s | FileCheck %s --check-prefix=JSON

// LIST: rule
// LIST: large-unsharded-parameter
// LIST: unused-mesh-axis SH0902 an axis of the mesh shards nothing
// UNKNOWN: error[SH0900]: unknown rule unused-axis
// UNKNOWN: help: the rules are large-unsharded-parameter, unused-mesh-axis,
// JSON: "version": 1
// JSON: "findings": [
// JSON: "code": "SH0902"
// JSON: "severity": "warning"
// JSON: "bytes": 0
// JSON: "place": {
// JSON-NEXT: "line": [[#@LINE+3]]
// JSON-NEXT: "column": 10
// JSON: "rule": "unused-mesh-axis"
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<32x64xf32> {
  %0 = stablehlo.tanh %x : tensor<32x64xf32>
  return %0 : tensor<32x64xf32>
}
