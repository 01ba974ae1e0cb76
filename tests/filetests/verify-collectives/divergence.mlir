// All devices of a group reach a collective together: the conditions that lead to it are equal on all of them.
// RUN: shardc opt %s -split-input-file -verify-collectives -verify-diagnostics

// Half of the devices all-reduce with devices that do not participate.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %id = stablehlo.replica_id : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %first = stablehlo.compare LT, %id, %two : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %r = "stablehlo.if"(%first) ({
      // expected-error@+1 {{SH0462}}
      %s = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %s : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// The same among themselves is right: the groups stay within devices that agree.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %id = stablehlo.replica_id : tensor<ui32>
    %two = stablehlo.constant dense<2> : tensor<ui32>
    %row = stablehlo.divide %id, %two : tensor<ui32>
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %first = stablehlo.compare EQ, %row, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %r = "stablehlo.if"(%first) ({
      %s = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
      ^bb0(%a: tensor<f32>, %b: tensor<f32>):
        %c = stablehlo.add %a, %b : tensor<f32>
        stablehlo.return %c : tensor<f32>
      }) : (tensor<4xf32>) -> tensor<4xf32>
      stablehlo.return %s : tensor<4xf32>
    }, {
      stablehlo.return %x : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// A loop that runs as often as the device's number says.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %id = stablehlo.replica_id : tensor<ui32>
    %one = stablehlo.constant dense<1> : tensor<ui32>
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %r:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<ui32>, tensor<4xf32>
    cond {
      %go = stablehlo.compare LT, %i, %id : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      // expected-error@+1 {{SH0462}}
      %p = "stablehlo.collective_permute"(%v) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<4xf32>) -> tensor<4xf32>
      %n = stablehlo.add %i, %one : tensor<ui32>
      stablehlo.return %n, %p : tensor<ui32>, tensor<4xf32>
    }
    return %r#1 : tensor<4xf32>
  }
}

// -----

// A carried value that differs initially is all-reduced with maximum in the first iteration, so all devices exit together.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<i32>) -> tensor<i32> {
    %limit = stablehlo.constant dense<10> : tensor<i32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.while(%v = %x, %seen = %zero) : tensor<i32>, tensor<i32>
    cond {
      %go = stablehlo.compare LT, %seen, %limit : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %id = stablehlo.replica_id : tensor<ui32>
      %own = stablehlo.convert %id : (tensor<ui32>) -> tensor<i32>
      %next = stablehlo.add %v, %own : tensor<i32>
      %s = "stablehlo.all_reduce"(%next) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
      ^bb0(%a: tensor<i32>, %b: tensor<i32>):
        %c = stablehlo.maximum %a, %b : tensor<i32>
        stablehlo.return %c : tensor<i32>
      }) : (tensor<i32>) -> tensor<i32>
      stablehlo.return %next, %s : tensor<i32>, tensor<i32>
    }
    return %r#1 : tensor<i32>
  }
}

// -----

// The result of a permute differs between devices even if its operand does not: device 3 gets zeros.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<i1>, %y: tensor<4xf32>) -> tensor<4xf32> {
    %p = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 0]]> : tensor<3x2xi64>}> : (tensor<i1>) -> tensor<i1>
    %r = "stablehlo.if"(%p) ({
      %a = "stablehlo.all_to_all"(%y) <{concat_dimension = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, split_count = 2 : i64, split_dimension = 0 : i64}> : (tensor<4xf32>) -> tensor<4xf32> // expected-error {{SH0462}}
      stablehlo.return %a : tensor<4xf32>
    }, {
      stablehlo.return %y : tensor<4xf32>
    }) : (tensor<i1>) -> tensor<4xf32>
    return %r : tensor<4xf32>
  }
}

// -----

// Values that are summed at once are apart: the first is the same everywhere, the second is not.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<ui32>) -> tensor<ui32> {
    %id = stablehlo.replica_id : tensor<ui32>
    %zero = stablehlo.constant dense<0> : tensor<ui32>
    %sums:2 = "stablehlo.all_reduce"(%x, %id) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
      %c = stablehlo.add %a, %b : tensor<ui32>
      stablehlo.return %c : tensor<ui32>
    }) : (tensor<ui32>, tensor<ui32>) -> (tensor<ui32>, tensor<ui32>)
    %alike = stablehlo.compare EQ, %sums#0, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %r = "stablehlo.if"(%alike) ({
      %s = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
      ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
        %c = stablehlo.add %a, %b : tensor<ui32>
        stablehlo.return %c : tensor<ui32>
      }) : (tensor<ui32>) -> tensor<ui32>
      stablehlo.return %s : tensor<ui32>
    }, {
      stablehlo.return %x : tensor<ui32>
    }) : (tensor<i1>) -> tensor<ui32>
    %apart = stablehlo.compare EQ, %sums#1, %zero : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %q = "stablehlo.if"(%apart) ({
      // expected-error@+1 {{devices 0 and 2 must both execute this all_reduce}}
      %s = "stablehlo.all_reduce"(%x) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
      ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
        %c = stablehlo.add %a, %b : tensor<ui32>
        stablehlo.return %c : tensor<ui32>
      }) : (tensor<ui32>) -> tensor<ui32>
      stablehlo.return %s : tensor<ui32>
    }, {
      stablehlo.return %r : tensor<ui32>
    }) : (tensor<i1>) -> tensor<ui32>
    return %q : tensor<ui32>
  }
}

// -----

// So are those that are put end to end, gathered, and cut apart again; what takes some of both is not.
module attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 4 : i32} {
  func.func @main(%x: tensor<1x2xui32>, %y: tensor<ui32>) -> tensor<ui32> {
    %id = stablehlo.replica_id : tensor<ui32>
    %ids = stablehlo.broadcast_in_dim %id, dims = [] : (tensor<ui32>) -> tensor<1x2xui32>
    %row = stablehlo.concatenate %x, %ids, dim = 1 : (tensor<1x2xui32>, tensor<1x2xui32>) -> tensor<1x4xui32>
    %rows = "stablehlo.all_gather"(%row) <{all_gather_dim = 0 : i64, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> : (tensor<1x4xui32>) -> tensor<2x4xui32>
    %first = stablehlo.slice %rows [0:1, 0:1] : (tensor<2x4xui32>) -> tensor<1x1xui32>
    %alike = stablehlo.reshape %first : (tensor<1x1xui32>) -> tensor<ui32>
    %no = stablehlo.constant dense<0> : tensor<ui32>
    %p = stablehlo.compare EQ, %alike, %no : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %r = "stablehlo.if"(%p) ({
      %s = "stablehlo.all_reduce"(%y) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
      ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
        %c = stablehlo.add %a, %b : tensor<ui32>
        stablehlo.return %c : tensor<ui32>
      }) : (tensor<ui32>) -> tensor<ui32>
      stablehlo.return %s : tensor<ui32>
    }, {
      stablehlo.return %y : tensor<ui32>
    }) : (tensor<i1>) -> tensor<ui32>
    %both = stablehlo.slice %rows [0:1, 1:3] : (tensor<2x4xui32>) -> tensor<1x2xui32>
    %one = stablehlo.slice %both [0:1, 0:1] : (tensor<1x2xui32>) -> tensor<1x1xui32>
    %apart = stablehlo.reshape %one : (tensor<1x1xui32>) -> tensor<ui32>
    %q = stablehlo.compare EQ, %apart, %no : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
    %t = "stablehlo.if"(%q) ({
      // expected-error@+1 {{devices 0 and 2 must both execute this all_reduce}}
      %s = "stablehlo.all_reduce"(%y) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({
      ^bb0(%a: tensor<ui32>, %b: tensor<ui32>):
        %c = stablehlo.add %a, %b : tensor<ui32>
        stablehlo.return %c : tensor<ui32>
      }) : (tensor<ui32>) -> tensor<ui32>
      stablehlo.return %s : tensor<ui32>
    }, {
      stablehlo.return %r : tensor<ui32>
    }) : (tensor<i1>) -> tensor<ui32>
    return %t : tensor<ui32>
  }
}
