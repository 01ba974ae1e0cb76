//! The text of every error.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{
    DType::{BF16, C64, F32, I1, I32},
    DotDims, Graph, GraphError, Mesh, Tensor, placement, spec,
};

fn mesh() -> Mesh {
    Mesh::new(&[("data", 4), ("model", 2)]).unwrap()
}

fn x(g: &Graph) -> Tensor<'_> {
    g.parameter("x", [8, 4], F32)
}

/// Returns the error with its hints and its notes about operands, without source locations.
fn text(error: &GraphError) -> String {
    let diagnostic = error.to_diagnostic();
    assert!(
        diagnostic.user_loc.unwrap().contains("errors.rs:"),
        "{} is not placed at its caller",
        error.kind
    );
    let operands = error.operands.iter().map(|operand| format!("\n    {operand}")).collect::<String>();
    let hint = diagnostic.hint.map_or(String::new(), |hint| format!("\n    {hint}"));
    format!("{}: {}{operands}{hint}\n", diagnostic.code, diagnostic.message)
}

/// Returns the errors of a graph.
fn reported(make: fn(&Graph)) -> String {
    let g = Graph::new("step", &mesh());
    make(&g);
    let errors = g.finish(&[]).expect_err("something is wrong");
    errors.0.iter().map(text).collect()
}

#[test]
fn errors_of_graphs() {
    let cases: &[fn(&Graph)] = &[
        |g| _ = x(g).mark_sharding(spec!["data"]),
        |g| _ = x(g).mark_sharding(spec!["data", "modle"]),
        |g| _ = x(g).mark_sharding(spec!["data", ("model", "data")]),
        |g| _ = x(g) - g.parameter("b", [8, 5], F32),
        |g| _ = x(g).named("input") * g.parameter("b", [8, 4], I32),
        |g| _ = x(g).exp().named("scores") * g.parameter("b", [8, 4], I32),
        |g| _ = x(g).dot(g.parameter("w", [8, 16], F32)),
        |g| _ = x(g).matmul(g.parameter("w", [2, 8, 16], F32)),
        |g| {
            let w = g.parameter("w", [8, 4], BF16);
            _ = x(g).dot_general(w, &DotDims::contracting(&[1], &[1]));
        },
        |g| {
            let x = x(g);
            _ = x.dot_general(x, &DotDims::contracting(&[1], &[0]));
            _ = x.dot_general(x, &DotDims::contracting(&[2], &[0]));
        },
        |g| {
            let other = Graph::new("other", &mesh());
            _ = x(g).max(other.scalar(1.0, F32)).dims::<2>();
        },
        |g| _ = x(g).sum(2),
        |g| _ = x(g).gt(0).sum(..),
        |g| _ = x(g).sum([0, -2]),
        |g| _ = x(g).transpose(&[0, 0]),
        |g| _ = x(g).transpose(&[0]),
        |g| _ = x(g).broadcast_in_dim([8, 4, 2], &[0]),
        |g| _ = x(g).broadcast_in_dim([4, 8], &[0, 1]),
        |g| _ = g.iota([4], 1, I32),
        |g| _ = g.iota([4], 0, I1),
        |g| _ = g.constant(&[1.0f32, 2.0], [3]),
        |g| _ = x(g).reshape([5, -1]),
        |g| _ = x(g).reshape([5, 6]),
        |g| _ = g.parameter("p", [-1, 4], F32),
        |g| _ = g.parameter("p", [1i64 << 40, 1 << 40], F32),
        |g| {
            x(g);
            x(g);
        },
        |g| _ = g.scalar(0.5, I32),
        |g| _ = g.arange(4, I32) + 0.5,
        |g| _ = g.binary(shardc_graph::BinaryOp::Add, 1.0, 2.0),
        |g| _ = g.arange(4, I32).exp(),
        |g| _ = g.arange(4, I32).mean(0),
        |g| _ = g.parameter("z", [4], C64).amax(0),
        |g| {
            let x = x(g);
            _ = x.select(x, 0.0);
        },
        |g| _ = g.parameter("p", [8], I1).select(x(g), 0.0),
        |g| _ = x(g).broadcast_to([4, 8]),
        |g| _ = x(g).slice(1, 2..5),
        |g| _ = x(g).at(0, 8),
        |g| _ = x(g).split(0, 3),
        |g| _ = g.concatenate(&[x(g), g.parameter("y", [8, 5], F32)], 0),
        |g| _ = g.concatenate(&[], 0),
        |g| {
            let x = x(g);
            _ = x.pad(x, &[0, 0], &[0, 0]);
        },
        |g| _ = x(g).dims::<3>(),
        |g| {
            let x = x(g);
            _ = x.dynamic_index(0, x);
        },
        |g| {
            let mut inner = None;
            g.fori(0, 4, x(g), |_, x| {
                inner = Some(x * 2);
                x
            });
            _ = inner.unwrap() + 1;
        },
        |g| _ = g.fori(0, 4, x(g), |_, x| x.sum(0)),
        |g| _ = g.while_loop(x(g), |x| x, |x| x),
        |g| _ = g.scan(x(g), (), |x, ()| (x, ())),
        |g| _ = g.scan((), (x(g), g.arange(3, I32)), |(), (x, i)| ((), (x, i))),
        |g| {
            let x = x(g);
            _ = g.cond(x.sum(..).gt(0), || x, || g.scalar(0.0, F32));
        },
        |g| _ = g.cond(x(g).gt(0), || g.scalar(1.0, F32), || g.scalar(0.0, F32)),
        |g| g.grad(x(g) * 2, &()),
        |g| _ = g.grad(x(g).sum(..), &g.arange(3, I32)),
        |g| {
            let x = x(g);
            let y = x * 2;
            _ = g.grad(y.sum(..), &[x, y]);
        },
        |g| {
            let x = x(g);
            let y = g.while_loop(x, |x| x.sum(..).lt(1), |x| x + x.sum(..));
            _ = g.grad(y.sum(..), &x);
        },
    ];
    insta::assert_snapshot!(cases.iter().map(|&make| reported(make)).collect::<String>());
}

#[test]
fn errors_of_meshes_and_specifications() {
    let cases: &[fn() -> Result<(), GraphError>] = &[
        || placement(&mesh(), [8], &spec!["row"]).map(drop),
        || Mesh::new(&[("data", 2), ("data", 4)]).map(drop),
        || Mesh::new(&[("data", 0)]).map(drop),
        || Mesh::new(&[("", 2)]).map(drop),
        || Mesh::new(&[("x", 1 << 20), ("y", 1 << 20)]).map(drop),
        || Mesh::with_device_ids(&[("x", 2)], &[0, 0]).map(drop),
    ];
    insta::assert_snapshot!(cases.iter().map(|make| text(&make().unwrap_err())).collect::<String>());
}

#[test]
fn an_error_names_its_source_line() {
    let g = Graph::new("step", &mesh());
    let x = x(&g);
    let (_, first) = (x.sum(7), line!());
    let (_, second) = (x + g.arange(3, I32), line!());
    let errors = g.finish(&[]).unwrap_err();
    let lines: Vec<u32> = errors.0.iter().map(|error| error.location.line()).collect();
    assert_eq!(lines, [first, second]);
}

/// Errors in the results of closures have the line of the call that takes the closure, and name the tensor.
#[test]
fn errors_of_closures_name_the_call_and_its_tensors() {
    let g = Graph::new("step", &mesh());
    let (x, n) = (x(&g), g.scalar(0.0, I32));
    let mut lines = Vec::new();
    lines.push(line!() + 1);
    g.scan((x, x), x, |(a, b), _| ((a, b.sum(0)), ()));
    lines.push(line!() + 1);
    g.fori(0, 3, (x, x), |_, (a, b)| (a, b.sum(0)));
    lines.push(line!() + 1);
    g.custom_vjp((n, x, x), |(_, a, b)| (a + b, ()), |(), d| (n, d, d.sum(0)));
    lines.push(line!() + 1);
    g.custom_jvp((n, x), |(n, a)| (n, a), |(n, a), (dn, da)| ((n, a), (dn, da.sum(0))));
    lines.push(line!() + 1);
    g.custom_jvp(x, |a| a, |a, da| (a.sum(0), da));
    lines.push(line!() + 1);
    g.scan(vec![x], (g.arange(3, I32),), |c, _| ([c.clone(), c].concat(), ()));
    let errors = g.finish(&[]).unwrap_err();
    let found: Vec<u32> = errors.0.iter().map(|error| error.location.line()).collect();
    assert_eq!(found, lines, "{errors}");
    let messages: Vec<String> = errors.0.iter().map(|error| error.kind.to_string()).collect();
    let changed =
        |what: &str, at: usize| format!("{what}: tensor {at} must be tensor<8x4xf32>, got tensor<4xf32>");
    assert_eq!(
        messages,
        [
            changed("the body of a scan", 1),
            changed("the body of a loop", 1),
            changed("the backward function of custom_vjp", 2),
            changed("the tangents in the derivative of custom_jvp", 1),
            changed("the outputs in the derivative of custom_jvp", 0),
            "the body of a scan returns 2 tensors, expected 1".to_owned(),
        ]
    );
}

/// Operations that a scan inserts have the source line of the scan.
#[test]
fn operations_of_a_scan_have_its_line() {
    let g = Graph::new("step", &mesh());
    let line = line!() + 1;
    let (end, _) = g.scan(g.zeros([4], F32), x(&g), |carry, part| (carry + part, ()));
    let module = g.finish(&[("end", end)]).unwrap();
    let body = module.funcs[module.entry().unwrap()].body.unwrap();
    let slice =
        module.walk(body).into_iter().find(|&op| module.ops[op].kind.name().contains("slice")).unwrap();
    let (file, at, _) = module.locs.file_position(module.ops[slice].loc.expand().unwrap()).unwrap();
    assert_eq!((file.rsplit('/').next(), at), (Some("errors.rs"), line));
}

#[test]
fn consequential_errors_are_not_reported() {
    let g = Graph::new("step", &mesh());
    let x = x(&g);
    let wrong = x.dot(x);
    let [a, b, c] = wrong.dims();
    let loss = (wrong.reshape([a, b * c]) + x).tanh().sum(..);
    let (end, parts) = g.scan(loss, wrong, |carry, part| (carry + part.sum(..), part.sum(5)));
    let dx = g.grad(g.cond(end.gt(0), || end, || parts.sum(..)), &x);
    let independent = x.sum(9);
    let errors = g.finish(&[("dx", dx), ("independent", independent)]).unwrap_err();
    let messages: Vec<String> = errors.0.iter().map(|error| error.kind.to_string()).collect();
    assert_eq!(
        messages,
        [
            "dot: incompatible shapes [8, 4] and [8, 4]",
            "sum: invalid dimensions [9] for a tensor of shape [8, 4]"
        ]
    );
}

#[test]
fn a_finished_graph_accepts_no_operations() {
    let g = Graph::new("step", &mesh());
    let x = x(&g);
    g.finish(&[("x", x)]).unwrap();
    assert!((x + 1).is_poisoned());
    assert_eq!(g.finish(&[]).unwrap_err().to_diagnostics()[0].code, "SH0618");
}

#[test]
fn result_names_are_unique() {
    let g = Graph::new("step", &mesh());
    let x = x(&g);
    let errors = g.finish(&[("y", x), ("y", x)]).unwrap_err();
    assert_eq!(errors.to_diagnostics()[0].code, "SH0611");
}
