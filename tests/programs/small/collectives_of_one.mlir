// Collectives of a program of one process: it has already what it would exchange with itself.
module attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=4]>
  func.func @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %b: tensor<6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> (tensor<8x6xf32>, tensor<6xf32>, tensor<6x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, tensor<6xf32>, tensor<ui32>) {
    %0:2 = "stablehlo.all_reduce"(%a, %b) <{replica_groups = dense<[[0]]> : tensor<1x1xi64>}> ({
    ^bb0(%l: tensor<f32>, %r: tensor<f32>):
      %9 = stablehlo.add %l, %r : tensor<f32>
      stablehlo.return %9 : tensor<f32>
    }) : (tensor<8x6xf32>, tensor<6xf32>) -> (tensor<8x6xf32>, tensor<6xf32>)
    %1 = "stablehlo.all_gather"(%0#0) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>}> : (tensor<8x6xf32>) -> tensor<8x6xf32>
    %2 = stablehlo.transpose %1, dims = [1, 0] : (tensor<8x6xf32>) -> tensor<6x8xf32>
    %3 = "stablehlo.all_to_all"(%2) <{concat_dimension = 0 : i64, replica_groups = dense<[[0]]> : tensor<1x1xi64>, split_count = 1 : i64, split_dimension = 1 : i64}> : (tensor<6x8xf32>) -> tensor<6x8xf32>
    %4 = "stablehlo.collective_permute"(%b) <{source_target_pairs = dense<> : tensor<0x2xi64>}> : (tensor<6xf32>) -> tensor<6xf32>
    %6 = stablehlo.replica_id : tensor<ui32>
    return %0#0, %0#1, %3, %4, %6 : tensor<8x6xf32>, tensor<6xf32>, tensor<6x8xf32>, tensor<6xf32>, tensor<ui32>
  }
}
