// A program that is annotated for GSPMD is partitioned like any other: its mesh is inferred, or given.
// RUN: shardc partition %s -o - --manifest %t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=INFERRED --input-file=%t.json
// RUN: shardc partition %s -o - --mesh data=4 --manifest %t.json
// RUN: FileCheck %s --check-prefix=GIVEN --input-file=%t.json
// RUN: not shardc partition %s -o - --mesh data=3 2>&1 | FileCheck %s --check-prefix=UNFIT

// CHECK: func.func @main(%arg0: tensor<2xf32>
// INFERRED: "name": "axis_0"
// GIVEN: "name": "data"
// UNFIT: error[SH0342]: the sharding "{devices=[4]<=[4]}" of argument 0 of @main does not fit the mesh data=3
// UNFIT: gspmd.mlir:[[#@LINE+2]]:
// UNFIT: help: leave out the mesh: it is then inferred from the shardings
func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
