//! Every error, as a user sees it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{DType, DotDims, Graph, GraphError, Mesh, Tensor, placement, spec};

type Make = fn(&mut Graph) -> Result<(), GraphError>;

fn mesh() -> Mesh {
    Mesh::new(&[("data", 4), ("model", 2)]).unwrap()
}

fn x(g: &mut Graph) -> Tensor {
    g.parameter("x", [8, 4], DType::F32).unwrap()
}

/// The error with its advice, without the place.
fn text(make: Make) -> String {
    let error = make(&mut Graph::new("step", mesh())).unwrap_err();
    let diagnostic = error.to_diagnostic();
    assert!(
        diagnostic.user_loc.unwrap().contains("errors.rs:"),
        "{} is not placed at its caller",
        error.kind
    );
    let hint = diagnostic.hint.map_or(String::new(), |hint| format!("\n    {hint}"));
    format!("{}: {}{hint}\n", diagnostic.code, diagnostic.message)
}

#[test]
fn errors() {
    let cases: &[Make] = &[
        |g| {
            let x = x(g);
            g.mark_sharding(x, spec!["data"]).map(drop)
        },
        |g| {
            let x = x(g);
            g.mark_sharding(x, spec!["data", "modle"]).map(drop)
        },
        |g| {
            let x = x(g);
            g.mark_sharding(x, spec!["data", ("model", "data")]).map(drop)
        },
        |_| placement(&mesh(), [8], &spec!["row"]).map(drop),
        |g| {
            let (x, b) = (x(g), g.parameter("b", [4], DType::F32)?);
            g.add(x, b).map(drop)
        },
        |g| {
            let (x, b) = (x(g), g.parameter("b", [4], DType::F32)?);
            g.add(b, x).map(drop)
        },
        |g| {
            let (x, b) = (x(g), g.parameter("b", [8, 5], DType::F32)?);
            g.sub(x, b).map(drop)
        },
        |g| {
            let (x, b) = (x(g), g.parameter("b", [8, 4], DType::I32)?);
            g.mul(x, b).map(drop)
        },
        |g| {
            let (x, w) = (x(g), g.parameter("w", [8, 16], DType::F32)?);
            g.dot(x, w).map(drop)
        },
        |g| {
            let (x, w) = (x(g), g.parameter("w", [8, 4], DType::BF16)?);
            let roles = DotDims { left_contract: vec![1], right_contract: vec![1], ..DotDims::default() };
            g.dot_general(x, w, &roles).map(drop)
        },
        |g| {
            let x = x(g);
            let roles = DotDims { left_contract: vec![1], right_contract: vec![0], ..DotDims::default() };
            g.dot_general(x, x, &roles).map(drop)
        },
        |g| {
            let x = x(g);
            let roles = DotDims { left_contract: vec![2], right_contract: vec![0], ..DotDims::default() };
            g.dot_general(x, x, &roles).map(drop)
        },
        |g| {
            let other = x(&mut Graph::new("other", mesh()));
            g.neg(other).map(drop)
        },
        |_| Mesh::new(&[("data", 2), ("data", 4)]).map(drop),
        |_| Mesh::new(&[("data", 0)]).map(drop),
        |_| Mesh::new(&[("", 2)]).map(drop),
        |_| Mesh::new(&[("x", 1 << 20), ("y", 1 << 20)]).map(drop),
        |_| Mesh::with_device_ids(&[("x", 2)], &[0, 0]).map(drop),
        |g| {
            let x = x(g);
            g.reduce_sum(x, &[2]).map(drop)
        },
        |g| {
            let x = x(g);
            g.transpose(x, &[0, 0]).map(drop)
        },
        |g| {
            let x = x(g);
            g.broadcast_in_dim(x, [8, 4, 2], &[0]).map(drop)
        },
        |g| g.iota([4], 1, DType::I32).map(drop),
        |g| g.iota([4], 0, DType::I1).map(drop),
        |g| g.constant_f32(&[1.0, 2.0], [3]).map(drop),
        |g| {
            let x = x(g);
            g.reshape(x, [5, 6]).map(drop)
        },
        |g| g.parameter("p", [-1, 4], DType::F32).map(drop),
        |g| g.parameter("p", [1 << 40, 1 << 40], DType::F32).map(drop),
        |g| {
            x(g);
            g.parameter("x", [2], DType::F32).map(drop)
        },
        |g| {
            let x = x(g);
            let g = std::mem::replace(g, Graph::new("rest", mesh()));
            g.finish(&[("y", x), ("y", x)]).map(drop)
        },
        |g| g.scalar(0.5, DType::I32).map(drop),
        |g| {
            let i = g.iota([4], 0, DType::I32)?;
            g.add(i, 0.5).map(drop)
        },
        |g| g.add(1.0, 2.0).map(drop),
        |g| {
            let i = g.iota([4], 0, DType::I32)?;
            g.exp(i).map(drop)
        },
        |g| {
            let i = g.iota([4], 0, DType::I32)?;
            g.reduce_mean(i, &[0]).map(drop)
        },
        |g| {
            let z = g.parameter("z", [4], DType::C64)?;
            g.reduce_max(z, &[0]).map(drop)
        },
        |g| {
            let x = x(g);
            g.select(x, x, 0.0).map(drop)
        },
        |g| {
            let (x, p) = (x(g), g.parameter("p", [8], DType::I1)?);
            g.select(p, x, 0.0).map(drop)
        },
        |g| {
            let x = x(g);
            g.broadcast_to(x, [4, 8]).map(drop)
        },
        |g| {
            let x = x(g);
            g.slice(x, &[0, 0], &[8, 5]).map(drop)
        },
        |g| {
            let (x, y) = (x(g), g.parameter("y", [8, 5], DType::F32)?);
            g.concatenate(&[x, y], 0).map(drop)
        },
        |g| g.concatenate(&[], 0).map(drop),
        |g| {
            let x = x(g);
            g.pad(x, x, &[0, 0], &[0, 0]).map(drop)
        },
    ];
    insta::assert_snapshot!(cases.iter().map(|&make| text(make)).collect::<String>());
}

#[test]
fn an_error_names_the_line_that_it_comes_from() {
    let mut g = Graph::new("step", mesh());
    let x = x(&mut g);
    let (error, line) = (g.reduce_sum(x, &[7]).unwrap_err(), line!());
    assert_eq!(error.location.line(), line);
    let (error, line) =
        (g.relu(Graph::new("a", mesh()).scalar(1.0, DType::F32).unwrap()).unwrap_err(), line!());
    assert_eq!(error.location.line(), line);
    assert!(
        error.to_string().starts_with("error[SH0606]: the tensor belongs to another graph (at "),
        "{error}"
    );
}
