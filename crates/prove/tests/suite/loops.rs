//! Loops whose trip count depends on values, and reductions by regions.

use shardc_prove::{Options, Verdict, prove};

use crate::support::{boundary, module, only};

/// Multiplies `%s` by `%d` until the sum of the counters is large. `sum` computes the sum `%t` over all counters from the local sum `%l`.
fn counting(rows: usize, sum: &str) -> String {
    let (k, s) = (format!("tensor<{rows}xi32>"), format!("tensor<{rows}x3xf32>"));
    format!(
        "func.func @main(%k: {k}, %x: {s}, %y: {s}) -> {s} {{
        %most = stablehlo.constant dense<60> : tensor<i32>
        %zero = stablehlo.constant dense<0> : tensor<i32>
        %one = stablehlo.constant dense<1> : {k}
        %0:3 = stablehlo.while(%n = %k, %s = %x, %d = %y) : {k}, {s}, {s}
        cond {{
          %l = stablehlo.reduce(%n init: %zero) applies stablehlo.add across dimensions = [0] : ({k}, tensor<i32>) -> tensor<i32>
          {sum}
          %c = stablehlo.compare LT, %t, %most, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }} do {{
          %m = stablehlo.add %n, %one : {k}
          %p = stablehlo.multiply %s, %d : {s}
          stablehlo.return %m, %p, %d : {k}, {s}, {s}
        }}
        return %0#1 : {s} }}"
    )
}

#[test]
fn a_loop_on_blocks_is_a_loop_on_the_tensor() {
    let original = counting(
        8,
        "%t = stablehlo.negate %l : tensor<i32>
          %most2 = stablehlo.negate %most : tensor<i32>",
    )
    .replace("LT, %t, %most,", "GT, %t, %most2,");
    let local = counting(
        2,
        "%r = \"stablehlo.all_reduce\"(%l) <{replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> ({ ^bb0(%left: tensor<i32>, %right: tensor<i32>): %both = stablehlo.add %left, %right : tensor<i32>
          stablehlo.return %both : tensor<i32> }) : (tensor<i32>) -> tensor<i32>
          %t = stablehlo.negate %r : tensor<i32>
          %most2 = stablehlo.negate %most : tensor<i32>",
    )
    .replace("LT, %t, %most,", "GT, %t, %most2,");
    let wrong = [
        ("dense<60>", "dense<50>"),
        ("multiply %s, %d", "add %s, %d"),
        ("multiply %s, %d", "multiply %s, %s"),
        ("return %m, %p, %d", "return %m, %p, %s"),
        ("%s = %x, %d = %y", "%s = %y, %d = %x"),
        ("GT, %t, %most2,", "GT, %most2, %t,"),
        ("add %n, %one", "add %n, %n"),
    ];
    only(&original, &local, &["ab", "ab,-", "ab,-"], &["ab,-"], &wrong);
}

#[test]
fn a_loop_may_exchange_blocks_in_its_body() {
    // The body needs all columns, and the state is sharded by columns.
    let program = |columns: usize, gather: &str, multiply: &str| {
        let s = format!("tensor<3x{columns}xf32>");
        format!(
            "func.func @main(%k: tensor<i32>, %x: {s}, %w: tensor<8x{columns}xf32>) -> {s} {{
        %most = stablehlo.constant dense<9> : tensor<i32>
        %one = stablehlo.constant dense<1> : tensor<i32>
        %0:2 = stablehlo.while(%n = %k, %s = %x) : tensor<i32>, {s}
        cond {{
          %c = stablehlo.compare LT, %n, %most, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          stablehlo.return %c : tensor<i1>
        }} do {{
          %m = stablehlo.add %n, %one : tensor<i32>
          {gather}
          %p = stablehlo.dot_general {multiply}, %w, contracting_dims = [1] x [0] : (tensor<3x8xf32>, tensor<8x{columns}xf32>) -> {s}
          stablehlo.return %m, %p : tensor<i32>, {s}
        }}
        return %0#1 : {s} }}"
        )
    };
    let original = program(8, "", "%s");
    let local = program(
        2,
        "%g = \"stablehlo.all_gather\"(%s) <{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}> : (tensor<3x2xf32>) -> tensor<3x8xf32>",
        "%g",
    );
    let wrong = [("[[0, 1, 2, 3]]", "[[1, 0, 2, 3]]"), ("dense<1>", "dense<2>"), ("dense<9>", "dense<8>")];
    only(&original, &local, &["", "-,ab", "-,ab"], &["-,ab"], &wrong);
}

/// The greatest element and its position, in dimension 1.
fn greatest(values: &str, positions: &str, rows: usize, columns: usize, name: &str) -> String {
    let (wide, narrow) = (format!("tensor<{rows}x{columns}xi32>"), format!("tensor<{rows}xi32>"));
    format!(
        "%{name}:2 = stablehlo.reduce({values} init: %least), ({positions} init: %first) across dimensions = [1] : ({wide}, {wide}, tensor<i32>, tensor<i32>) -> ({narrow}, {narrow})
        reducer(%e: tensor<i32>, %f: tensor<i32>) (%p: tensor<i32>, %q: tensor<i32>) {{
          %gt = stablehlo.compare GT, %e, %f, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %eq = stablehlo.compare EQ, %e, %f, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %lt = stablehlo.compare LT, %p, %q, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
          %tie = stablehlo.and %eq, %lt : tensor<i1>
          %is = stablehlo.or %gt, %tie : tensor<i1>
          %value = stablehlo.select %gt, %e, %f : tensor<i1>, tensor<i32>
          %place = stablehlo.select %is, %p, %q : tensor<i1>, tensor<i32>
          stablehlo.return %value, %place : tensor<i32>, tensor<i32>
        }}"
    )
}

#[test]
fn the_greatest_of_the_greatest_elements_is_the_greatest() {
    let constants = "%least = stablehlo.constant dense<-2147483648> : tensor<i32>
        %first = stablehlo.constant dense<2147483647> : tensor<i32>";
    let original = format!(
        "func.func @main(%x: tensor<3x8xi32>) -> (tensor<3xi32>, tensor<3xi32>) {{
        {constants}
        %i = stablehlo.iota dim = 1 : tensor<3x8xi32>
        {}
        return %0#0, %0#1 : tensor<3xi32>, tensor<3xi32> }}",
        greatest("%x", "%i", 3, 8, "0")
    );
    let gather = |from: &str, to: &str| {
        format!(
            "%r{to} = stablehlo.reshape {from} : (tensor<3xi32>) -> tensor<3x1xi32>
        %{to} = \"stablehlo.all_gather\"(%r{to}) <{{all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>}}> : (tensor<3x1xi32>) -> tensor<3x4xi32>"
        )
    };
    let local = format!(
        "func.func @main(%x: tensor<3x2xi32>) -> (tensor<3xi32>, tensor<3xi32>) {{
        {constants}
        %u = stablehlo.replica_id : tensor<ui32>
        %d = stablehlo.convert %u : (tensor<ui32>) -> tensor<i32>
        %two = stablehlo.constant dense<2> : tensor<i32>
        %o = stablehlo.multiply %d, %two : tensor<i32>
        %b = stablehlo.broadcast_in_dim %o, dims = [] : (tensor<i32>) -> tensor<3x2xi32>
        %l = stablehlo.iota dim = 1 : tensor<3x2xi32>
        %i = stablehlo.add %l, %b : tensor<3x2xi32>
        {}
        {}
        {}
        {}
        return %1#0, %1#1 : tensor<3xi32>, tensor<3xi32> }}",
        greatest("%x", "%i", 3, 2, "0"),
        gather("%0#0", "values"),
        gather("%0#1", "places"),
        greatest("%values", "%places", 3, 4, "1")
    );
    let wrong = [
        ("dense<2> : tensor<i32>", "dense<3> : tensor<i32>"),
        ("add %l, %b", "add %l, %l"),
        ("return %1#0, %1#1", "return %1#1, %1#0"),
        ("select %gt, %e, %f", "select %gt, %f, %e"),
        ("[[0, 1, 2, 3]]", "[[1, 0, 2, 3]]"),
    ];
    only(&original, &local, &["-,ab"], &["-", "-"], &wrong);
}

#[test]
fn rewrites_of_a_loop_without_end_do_not_nest_too_deeply() {
    let program = |step: &str, kept: &str| {
        format!(
            "func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {{
  %c = stablehlo.constant dense<0> : tensor<i32>
  %two = stablehlo.constant dense<2> : tensor<i32>
  %0:2 = stablehlo.while(%i = %c, %s = %x) : tensor<i32>, tensor<2x3xf32>
  cond {{
    %is = stablehlo.compare LT, %i, %two : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %is : tensor<i1>
  }} do {{
    {kept}
    %next = stablehlo.add %i, {step} : tensor<i32>
    stablehlo.return %next, %u : tensor<i32>, tensor<2x3xf32>
  }}
  return %0#1 : tensor<2x3xf32>
}}"
        )
    };
    let original = module(&program("%two", "%u = stablehlo.negate %s : tensor<2x3xf32>"));
    let local = module(&program(
        "%i",
        "%p = \"stablehlo.collective_permute\"(%s) <{source_target_pairs = dense<[[0, 1], [1, 2], [2, 3]]> : tensor<3x2xi64>}> : (tensor<2x3xf32>) -> tensor<2x3xf32>
    %t = stablehlo.subtract %s, %p : tensor<2x3xf32>
    %u = \"stablehlo.all_reduce\"(%t) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>}> ({
    ^bb0(%left: tensor<f32>, %right: tensor<f32>):
      %sum = stablehlo.add %left, %right : tensor<f32>
      stablehlo.return %sum : tensor<f32>
    }) : (tensor<2x3xf32>) -> tensor<2x3xf32>",
    ));
    let boundary = boundary(&original, &local, [&["-,-"], &["-,-"]]);
    let interrupt = shardc_ir::Interrupt::default().with_time_limit(std::time::Duration::from_secs(2));
    let options = Options { test_work: None, interrupt, ..Options::default() };
    // The values of the loop nest deeper with each iteration.
    let proof = std::thread::Builder::new()
        .stack_size(1 << 21)
        .spawn(move || prove(&original, &local, &boundary, &options).map(|report| report.verdict));
    let verdict = proof.unwrap().join().unwrap();
    assert!(!matches!(verdict, Ok(Verdict::Proven)), "{verdict:?}");
}
