// Sharded indices look up rows of a sharded table: each device looks up parts of all rows. An all-to-all before the
// lookup and one after it send less than an all-gather of the table.
// RUN: shardc opt %s --passes propagate,plan -split-input-file | FileCheck %s
// RUN: shardc partition %S/../../programs/small/exchanged_rows.mlir -o %t --summary 2>&1 | FileCheck %s --check-prefix=SENT
// SENT: all_gather 2 0 2 168.0 KiB
// SENT: all_to_all 4 0 4 4.4 MiB

sdy.mesh @mesh = <["data"=8]>

// Samples in another order.
// CHECK-LABEL: func.func @shuffled
// CHECK-DAG: %[[X:.*]] = sdy.reshard %arg0 <@mesh, [{}, {"data"}]> : tensor<65536x128xf32>
// CHECK-DAG: %[[I:.*]] = sdy.reshard %arg1 <@mesh, [{}, {}]> : tensor<65536x1xi32>
// CHECK: %[[R:.*]] = "stablehlo.gather"(%[[X]], %[[I]]) {{.*}}[{}, {"data"}]>]>} :
// CHECK: sdy.reshard %[[R]] <@mesh, [{"data"}, {}]> : tensor<65536x128xf32>
func.func @shuffled(%x: tensor<65536x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %i: tensor<65536x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<65536x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 128>, indices_are_sorted = false}> : (tensor<65536x128xf32>, tensor<65536x1xi32>) -> tensor<65536x128xf32>
  return %0 : tensor<65536x128xf32>
}

// -----

// A table of less than 4 MiB is gathered: two collectives on the way take longer.
sdy.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @small
// CHECK: %[[X:.*]] = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<4096x128xf32>
// CHECK: "stablehlo.gather"(%[[X]], %arg1)
func.func @small(%x: tensor<4096x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %i: tensor<4096x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4096x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 128>, indices_are_sorted = false}> : (tensor<4096x128xf32>, tensor<4096x1xi32>) -> tensor<4096x128xf32>
  return %0 : tensor<4096x128xf32>
}

// -----

// Rows of fewer elements than there are devices have no parts for all.
sdy.mesh @mesh = <["data"=8]>

// CHECK-LABEL: func.func @narrow
// CHECK: %[[X:.*]] = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<4194304x4xf32>
// CHECK: "stablehlo.gather"(%[[X]], %arg1)
func.func @narrow(%x: tensor<4194304x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %i: tensor<4194304x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>})
    -> (tensor<4194304x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>, indices_are_sorted = false}> : (tensor<4194304x4xf32>, tensor<4194304x1xi32>) -> tensor<4194304x4xf32>
  return %0 : tensor<4194304x4xf32>
}

// -----

// A small table in which all devices look up many rows is gathered, where a sum of what each device finds would be as large as the rows.
sdy.mesh @mesh = <["model"=8]>

// CHECK-LABEL: func.func @few_rows_read_often
// CHECK: %[[X:.*]] = sdy.reshard %arg0 <@mesh, [{}, {}]> : tensor<256x128xf32>
// CHECK: "stablehlo.gather"(%[[X]], %arg1)
func.func @few_rows_read_often(%x: tensor<256x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
    %i: tensor<65536x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> (tensor<65536x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 128>, indices_are_sorted = false}> : (tensor<256x128xf32>, tensor<65536x1xi32>) -> tensor<65536x128xf32>
  return %0 : tensor<65536x128xf32>
}

// -----

// A large one is not, of which few rows are read.
sdy.mesh @mesh = <["model"=8]>

// CHECK-LABEL: func.func @many_rows_read_once
// CHECK: "stablehlo.gather"(%arg0, %arg1) {{.*}}unreduced={"model"}
func.func @many_rows_read_once(%x: tensor<65536x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"model"}, {}]>},
    %i: tensor<256x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>})
    -> (tensor<256x128xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 128>, indices_are_sorted = false}> : (tensor<65536x128xf32>, tensor<256x1xi32>) -> tensor<256x128xf32>
  return %0 : tensor<256x128xf32>
}
