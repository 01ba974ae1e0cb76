//! Generated programs with many operands, values or axes of one kind.

use std::fmt::Write as _;

const HEAD: &str = "sdy.mesh @mesh = <[\"x\"=4, \"y\"=2]>\n";

/// A concatenate of `n` arguments with three different shardings.
pub(super) fn concatenate(n: usize) -> String {
    let shardings = [r#"{"x"}, {}"#, r#"{}, {"x"}"#, r#"{"y"}, {}"#];
    let args: Vec<String> = (0..n)
        .map(|i| {
            let sharding = shardings[i % 3];
            format!("%a{i}: tensor<64x4xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{sharding}]>}}")
        })
        .collect();
    let names: Vec<String> = (0..n).map(|i| format!("%a{i}")).collect();
    let (ty, types) = (format!("tensor<64x{}xf32>", 4 * n), vec!["tensor<64x4xf32>"; n].join(", "));
    format!(
        "{HEAD}func.func @main({}) -> {ty} {{\n%r = stablehlo.concatenate {}, dim = 1 : ({types}) -> {ty}\nreturn %r : {ty}\n}}\n",
        args.join(", "),
        names.join(", ")
    )
}

/// The sum of `n` arguments, of which two in three are annotated.
pub(super) fn arguments(n: usize) -> String {
    let sharding = "{sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}";
    let args: Vec<String> = (0..n)
        .map(|i| format!("%a{i}: tensor<64x64xf32> {}", if i % 3 == 0 { "" } else { sharding }))
        .collect();
    let mut body = "%r0 = stablehlo.add %a0, %a0 : tensor<64x64xf32>\n".to_owned();
    for i in 1..n {
        let _ = writeln!(body, "%r{i} = stablehlo.add %r{}, %a{i} : tensor<64x64xf32>", i - 1);
    }
    let last = n - 1;
    format!(
        "{HEAD}func.func @main({}) -> tensor<64x64xf32> {{\n{body}return %r{last} : tensor<64x64xf32>\n}}\n",
        args.join(", ")
    )
}

/// A chain of `n` additions.
pub(super) fn chain(n: usize) -> String {
    let mut body = String::new();
    for i in 0..n {
        let _ = writeln!(body, "%r{} = stablehlo.add %r{i}, %a : tensor<64x64xf32>", i + 1);
    }
    format!(
        "{HEAD}func.func @main(%r0: tensor<64x64xf32> {{sdy.sharding = #sdy.sharding<@mesh, [{{\"x\"}}, {{}}]>}}, %a: tensor<64x64xf32>) -> tensor<64x64xf32> {{\n{body}return %r{n} : tensor<64x64xf32>\n}}\n"
    )
}

/// The shardings of matrices in the generated programs; value `i` has sharding `i` modulo 3.
const SHARDINGS: [&str; 3] = [r#"{"x"}, {}"#, r#"{}, {"x"}"#, r#"{"y"}, {}"#];

const MATRIX: &str = "tensor<64x64xf32>";

/// The sharding attribute of the `i`-th value.
fn sharded(i: usize) -> String {
    format!("{{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}", SHARDINGS[i % 3])
}

/// The results of `item` for 0 to `n - 1`, separated by commas.
fn list(n: usize, item: impl Fn(usize) -> String) -> String {
    (0..n).map(item).collect::<Vec<String>>().join(", ")
}

/// A function with matrices `%a0`, `%a1`, ... as arguments, and with results of `types`.
fn of_matrices(n: usize, types: &str, body: &str) -> String {
    let args = list(n, |i| format!("%a{i}: {MATRIX} {}", sharded(i)));
    format!("{HEAD}func.func @main({args}) -> ({types}) {{\n{body}}}\n")
}

/// A function with `n` results, with three different shardings.
pub(super) fn results(n: usize) -> String {
    let mut body = String::new();
    for i in 0..n {
        let _ = writeln!(body, "%r{i} = stablehlo.add %a0, %a0 : {MATRIX}");
    }
    let _ = writeln!(body, "return {} : {}", list(n, |i| format!("%r{i}")), list(n, |_| MATRIX.to_owned()));
    of_matrices(1, &list(n, |i| format!("{MATRIX} {}", sharded(i))), &body)
}

/// Matmuls of `n` matrices of different sizes with their transposes.
pub(super) fn products(n: usize) -> String {
    let size = |i: usize| (8 * (i % 100 + 1), 8 * (i / 100 + 1));
    let (mut body, mut args, mut types) = (String::new(), Vec::new(), Vec::new());
    for i in 0..n {
        let (a, b) = size(i);
        let (from, to, square) =
            (format!("tensor<{a}x{b}xf32>"), format!("tensor<{b}x{a}xf32>"), format!("tensor<{a}x{a}xf32>"));
        args.push(format!("%a{i}: {from} {}", sharded(i)));
        let _ = writeln!(body, "%t{i} = stablehlo.transpose %a{i}, dims = [1, 0] : ({from}) -> {to}");
        let _ = writeln!(
            body,
            "%r{i} = stablehlo.dot_general %a{i}, %t{i}, contracting_dims = [1] x [0] : ({from}, {to}) -> {square}"
        );
        types.push(square);
    }
    let (args, types) = (args.join(", "), types.join(", "));
    let _ = writeln!(body, "return {} : {types}", list(n, |i| format!("%r{i}")));
    format!("{HEAD}func.func @main({args}) -> ({types}) {{\n{body}}}\n")
}

/// Sums of `n` matrices along a dimension, in one variadic reduce.
pub(super) fn reduction(n: usize) -> String {
    let (types, scalars) = (list(n, |_| MATRIX.to_owned()), list(n, |_| "tensor<f32>".to_owned()));
    let results = list(n, |_| "tensor<64xf32>".to_owned());
    let mut body = String::from("%c = stablehlo.constant dense<0.0> : tensor<f32>\n");
    let (args, inits) = (list(n, |i| format!("%a{i}")), list(n, |_| "%c".to_owned()));
    let lhs = list(n, |i| format!("%l{i}: tensor<f32>"));
    let rhs = list(n, |i| format!("%q{i}: tensor<f32>"));
    let _ = writeln!(body, "%r:{n} = \"stablehlo.reduce\"({args}, {inits}) ({{\n^bb0({lhs}, {rhs}):");
    for i in 0..n {
        let _ = writeln!(body, "%z{i} = stablehlo.add %l{i}, %q{i} : tensor<f32>");
    }
    let _ = writeln!(
        body,
        "stablehlo.return {} : {scalars}\n}}) {{dimensions = array<i64: 1>}} : ({types}, {scalars}) -> ({results})",
        list(n, |i| format!("%z{i}"))
    );
    let _ = writeln!(body, "return {} : {results}", list(n, |i| format!("%r#{i}")));
    of_matrices(n, &results, &body)
}

/// A sort of `n` matrices by the elements of the first matrix.
pub(super) fn sort(n: usize) -> String {
    let types = list(n, |_| MATRIX.to_owned());
    let mut body = String::new();
    let _ = writeln!(
        body,
        "%r:{n} = \"stablehlo.sort\"({}) ({{\n^bb0({}):\n%p = stablehlo.compare LT, %l0, %q0 : (tensor<f32>, tensor<f32>) -> tensor<i1>\nstablehlo.return %p : tensor<i1>\n}}) {{dimension = 1 : i64, is_stable = true}} : ({types}) -> ({types})",
        list(n, |i| format!("%a{i}")),
        list(n, |i| format!("%l{i}: tensor<f32>, %q{i}: tensor<f32>"))
    );
    let _ = writeln!(body, "return {} : {types}", list(n, |i| format!("%r#{i}")));
    of_matrices(n, &types, &body)
}

/// The text of the constants for loop counters: the initial value, the step and the bound.
const COUNTERS: &str = "%c0 = stablehlo.constant dense<0> : tensor<i32>
%c1 = stablehlo.constant dense<1> : tensor<i32>
%c8 = stablehlo.constant dense<8> : tensor<i32>
";

/// The condition of a loop with the counter `%k`.
fn condition(k: &str) -> String {
    format!(
        " cond {{\n%p = stablehlo.compare LT, {k}, %c8 : (tensor<i32>, tensor<i32>) -> tensor<i1>\nstablehlo.return %p : tensor<i1>\n}} do {{\n"
    )
}

/// A loop that carries `n` matrices and adds the next matrix to each.
pub(super) fn carries(n: usize) -> String {
    let types = list(n, |_| MATRIX.to_owned());
    let carried = list(n, |i| format!("%i{i} = %a{i}"));
    let mut body = COUNTERS.to_owned();
    let _ = writeln!(
        body,
        "%r:{} = stablehlo.while(%k = %c0, {carried}) : tensor<i32>, {types}{}%k1 = stablehlo.add %k, %c1 : tensor<i32>",
        n + 1,
        condition("%k")
    );
    for i in 0..n {
        let _ = writeln!(body, "%n{i} = stablehlo.add %i{i}, %i{} : {MATRIX}", (i + 1) % n);
    }
    let _ =
        writeln!(body, "stablehlo.return %k1, {} : tensor<i32>, {types}\n}}", list(n, |i| format!("%n{i}")));
    let _ = writeln!(body, "return {} : {types}", list(n, |i| format!("%r#{}", i + 1)));
    of_matrices(n, &types, &body)
}

/// `n` nested loops.
pub(super) fn nested(n: usize) -> String {
    let mut body = COUNTERS.to_owned();
    let mut value = "%a0".to_owned();
    for d in 0..n {
        let _ = writeln!(
            body,
            "%r{d}:2 = stablehlo.while(%k{d} = %c0, %i{d} = {value}) : tensor<i32>, {MATRIX}{}%n{d} = stablehlo.add %k{d}, %c1 : tensor<i32>\n%m{d} = stablehlo.add %i{d}, %a1 : {MATRIX}",
            condition(&format!("%k{d}"))
        );
        value = format!("%m{d}");
    }
    for d in (0..n).rev() {
        let _ = writeln!(body, "stablehlo.return %n{d}, {value} : tensor<i32>, {MATRIX}\n}}");
        value = format!("%r{d}#1");
    }
    let _ = writeln!(body, "return {value} : {MATRIX}");
    of_matrices(2, MATRIX, &body)
}

/// A sharded value that is split into `n` slices and concatenated again.
pub(super) fn slices(n: usize) -> String {
    let (ty, slice) = (format!("tensor<64x{}xf32>", 4 * n), "tensor<64x4xf32>");
    let mut body = String::new();
    for i in 0..n {
        let (from, to) = (4 * i, 4 * i + 4);
        let _ = writeln!(body, "%s{i} = stablehlo.slice %a [0:64, {from}:{to}] : ({ty}) -> {slice}");
    }
    let (names, types) = (list(n, |i| format!("%s{i}")), list(n, |_| slice.to_owned()));
    let _ =
        writeln!(body, "%r = stablehlo.concatenate {names}, dim = 1 : ({types}) -> {ty}\nreturn %r : {ty}");
    format!("{HEAD}func.func @main(%a: {ty} {}) -> {ty} {{\n{body}}}\n", sharded(0))
}

/// A sum and a matmul of two matrices on a mesh of `n` axes of size two. All axes shard the rows of the first matrix. In reverse order,
/// they shard the columns of the second matrix.
pub(super) fn axes(n: usize) -> String {
    let mesh = list(n, |i| format!("\"a{i}\"=2"));
    let (up, down) = (list(n, |i| format!("\"a{i}\"")), list(n, |i| format!("\"a{}\"", n - 1 - i)));
    let size = 2_usize.saturating_pow(n as u32 + 1);
    let ty = format!("tensor<{size}x{size}xf32>");
    format!(
        "sdy.mesh @mesh = <[{mesh}]>\nfunc.func @main(%a: {ty} {{sdy.sharding = #sdy.sharding<@mesh, [{{{up}}}, {{}}]>}}, \
         %b: {ty} {{sdy.sharding = #sdy.sharding<@mesh, [{{}}, {{{down}}}]>}}) -> {ty} {{\n\
         %0 = stablehlo.add %a, %b : {ty}\n\
         %1 = stablehlo.dot_general %0, %b, contracting_dims = [1] x [0] : ({ty}, {ty}) -> {ty}\n\
         return %1 : {ty}\n}}\n"
    )
}

/// The sum of two values of `n` dimensions, and its transpose. One value is sharded along the first dimension, the other along a middle
/// dimension.
pub(super) fn dimensions(n: usize) -> String {
    let shape = |i: usize| if i < 8 { "8x" } else { "1x" };
    let (from, to): (String, String) = ((0..n).map(shape).collect(), (0..n).rev().map(shape).collect());
    let (from, to) = (format!("tensor<{from}f32>"), format!("tensor<{to}f32>"));
    let split = |at: usize| list(n, |i| if i == at { "{\"x\"}" } else { "{}" }.to_owned());
    format!(
        "{HEAD}func.func @main(%a: {from} {{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}, \
         %b: {from} {{sdy.sharding = #sdy.sharding<@mesh, [{}]>}}) -> {to} {{\n\
         %0 = stablehlo.add %a, %b : {from}\n\
         %1 = stablehlo.transpose %0, dims = [{}] : ({from}) -> {to}\nreturn %1 : {to}\n}}\n",
        split(0),
        split(4),
        list(n, |i| (n - 1 - i).to_string())
    )
}
