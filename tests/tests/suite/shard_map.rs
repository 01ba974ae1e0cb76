//! Computations on shards in `shard_map` produce the same values and gradients as on entire tensors, in both modes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc::graph::{
    DType::{F32, I32},
    Graph, Mesh, Tensor, spec,
};
use shardc::{Compiler, SpmdMode};
use shardc_ir::Module;
use shardc_tests::devices::{Reference, Verdict, client, compare};

type Make = for<'g> fn(&'g Graph, Tensor<'g>, Tensor<'g>) -> Vec<Tensor<'g>>;

/// Computations on the unsharded tensors `x`, `[8, 16]`, and `w`, `[16, 8]`, and the same computations on their blocks.
const CASES: &[(&str, Make, Make)] =
    &[
        (
            "psum",
            |_, x, w| vec![x.dot(w)],
            |g, x, w| {
                let specs = [spec!["data", "model"], spec!["model", None]];
                vec![g.shard_map((x, w), &specs, &[spec!["data", None]], |(x, w)| x.dot(w).psum("model"))]
            },
        ),
        (
            "pmean and pmax",
            |_, x, _| vec![x.mean(0), x.amax(1)],
            |g, x, _| {
                let out = [spec!["model"], spec!["data"]];
                let (mean, most) = g.shard_map(x, &[spec!["data", "model"]], &out, |x| {
                    (x.mean(0).pmean("data"), x.amax(1).pmax("model"))
                });
                vec![mean, most]
            },
        ),
        (
            "all_gather along two axes",
            |_, x, w| vec![w.dot(x)],
            |g, x, w| {
                let specs = [spec![("data", "model"), None], spec![("model", "data"), None]];
                vec![g.shard_map((x, w), &specs, &[spec![("model", "data"), None]], |(x, w)| {
                    w.dot(x.all_gather(["data", "model"], 0))
                })]
            },
        ),
        (
            "psum_scatter",
            |_, x, w| vec![x.dot(w)],
            |g, x, w| {
                let specs = [spec![None, "data"], spec!["data", None]];
                vec![g.shard_map((x, w), &specs, &[spec!["data", None]], |(x, w)| {
                    x.dot(w).psum_scatter("data", 0)
                })]
            },
        ),
        (
            "all_to_all",
            |_, x, _| vec![x.tanh()],
            |g, x, _| {
                let out = [spec![None, "data"]];
                vec![g.shard_map(x, &[spec!["data", None]], &out, |x| x.tanh().all_to_all("data", 1, 0))]
            },
        ),
        (
            "ppermute",
            |_, x, _| vec![x.roll(2, 0)],
            |g, x, _| {
                let ring = [(0, 1), (1, 2), (2, 3), (3, 0)];
                vec![g.shard_map(x, &[spec!["data", None]], &[spec!["data", None]], |x| {
                    x.ppermute("data", &ring)
                })]
            },
        ),
        (
            "axis_index",
            |g, x, _| vec![x + g.iota([8, 16], 0, I32).to(F32) - (g.iota([8, 16], 0, I32) % 2).to(F32)],
            |g, x, _| {
                vec![g.shard_map(x, &[spec!["data", None]], &[spec!["data", None]], |x| {
                    x + (g.axis_index("data") * 2).to(F32)
                })]
            },
        ),
        (
            "a sum by a ring, which is said to be the same on all devices",
            |_, x, _| vec![x.tanh().reshape([4, 2, 16]).sum(0)],
            |g, x, _| {
                let ring = [(0, 1), (1, 2), (2, 3), (3, 0)];
                vec![g.shard_map(x, &[spec!["data", None]], &[spec![None, None]], |x| {
                    let x = x.tanh();
                    let (sum, _) = g.fori(0, 3, (x, x), |_, (sum, x)| {
                        let x = x.ppermute("data", &ring);
                        (sum + x, x)
                    });
                    sum.assume_replicated("data")
                })]
            },
        ),
        (
            "what is read from around, and over one axis alone",
            |_, x, w| vec![x.dot(w) * 2.0],
            |g, x, w| {
                let twice = w * 2.0;
                vec![g.shard_map_over(["data"], x, &[spec!["data", None]], &[spec!["data", None]], |x| {
                    x.dot(twice)
                })]
            },
        ),
    ];

/// A program that returns the results and, if requested, the gradients of their weighted sum.
fn program(make: Make, with_gradients: bool) -> Module {
    let g = Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap());
    let x = g.parameter("x", [8, 16], F32).mark_sharding(spec!["data", "model"]);
    let w = g.parameter("w", [16, 8], F32);
    let results = make(&g, x, w);
    let mut named: Vec<(String, Tensor<'_>)> =
        results.iter().enumerate().map(|(i, result)| (format!("result{i}"), *result)).collect();
    if with_gradients {
        let mut loss = g.scalar(0.0, F32);
        for result in &results {
            let weights = g.arange(result.num_elements(), F32).cos().reshape(result.shape());
            loss = loss + (*result * weights).sum(..);
        }
        let (dx, dw) = g.grad(loss, &(x, w));
        named.extend([("dx".to_owned(), dx), ("dw".to_owned(), dw)]);
    }
    let named: Vec<(&str, Tensor<'_>)> =
        named.iter().map(|(name, tensor)| (name.as_str(), *tensor)).collect();
    g.finish(&named).unwrap()
}

#[test]
fn shard_map_matches_whole_tensors() {
    let Some(client) = client().unwrap() else { return };
    for (name, whole, blocks) in CASES {
        // The maximum over several blocks has no derivative.
        let with_gradients = !name.contains("pmax");
        let whole = program(*whole, with_gradients);
        for mode in [SpmdMode::Replica, SpmdMode::Partition] {
            let compiler = Compiler::new().spmd_mode(mode);
            let output = compiler.partition_module(whole.clone()).unwrap();
            let reference = Reference::new(&client, whole.clone(), &output).unwrap();
            let output = compiler.partition_module(program(*blocks, with_gradients)).unwrap();
            assert_eq!(compare(&client, &reference, &output), Verdict::Equal, "{name}, {mode:?}");
        }
    }
}
