// A program with GSPMD annotations is partitioned on an inferred or a given mesh. Tiles do not name axes: if they do
// not fit the given mesh, its axes replace the inferred ones in order.
// RUN: shardc partition %s -o - --manifest %t.json | FileCheck %s
// RUN: FileCheck %s --check-prefix=INFERRED --input-file=%t.json
// RUN: shardc partition %s -o - --mesh data=4 --manifest %t.json
// RUN: FileCheck %s --check-prefix=GIVEN --input-file=%t.json
// RUN: shardc partition %s -o - --mesh data=3,model=2 --manifest %t.json | FileCheck %s --check-prefix=OTHER
// RUN: FileCheck %s --check-prefix=OTHERS --input-file=%t.json

module attributes {mhlo.num_partitions = 4 : i32} {
// CHECK: func.func @main(%arg0: tensor<2xf32>
// INFERRED: "name": "axis_0"
// GIVEN: "name": "data"
// OTHER: func.func @main(%arg0: tensor<3xf32>
// OTHERS: "name": "data"
// OTHERS-NEXT: "size": 3
// OTHERS: "name": "model"
// OTHERS-NEXT: "size": 2
func.func @main(%x: tensor<8xf32> {mhlo.sharding = "{devices=[4]<=[4]}"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
}
