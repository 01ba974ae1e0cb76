//! Collectives in `shard_map` have the values and gradients of `jax.lax` in `jax.shard_map`.
//!
//! The values are from `data/shard_map_values.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;

use serde_json::Value;
use shardc::exec::Program;
use shardc::graph::{DType::F32, Graph, Mesh, PartitionSpec, Tensor, spec};
use shardc::runtime::HostArray;
use shardc::{Compiler, SpmdMode};
use shardc_ir::Module;
use shardc_tests::devices::client;

const VALUES: &str = include_str!("../data/shard_map_values.json");

type Make = for<'g> fn(&'g Graph, &[Tensor<'g>]) -> Tensor<'g>;

const RING: [(i64, i64); 4] = [(0, 1), (1, 2), (2, 3), (3, 0)];

/// Applies a case to the shard of its operand.
fn mapped<'g>(
    x: Tensor<'g>,
    from: PartitionSpec,
    to: PartitionSpec,
    body: impl FnOnce(Tensor<'g>) -> Tensor<'g>,
) -> Tensor<'g> {
    x.graph().shard_map(x, &[from], &[to], body)
}

fn rows() -> PartitionSpec {
    spec!["data", None]
}

fn both() -> PartitionSpec {
    spec![("data", "model"), None]
}

fn grid() -> PartitionSpec {
    spec!["data", "model"]
}

fn deep() -> PartitionSpec {
    spec!["data", None, None]
}

const CASES: &[(&str, Make)] = &[
    ("psum", |_, x| mapped(x[0], rows(), spec![None, None], |x| x.sin().psum("data"))),
    ("psum_two", |_, x| mapped(x[0], grid(), spec![None, None], |x| x.square().psum(["data", "model"]))),
    ("psum_product", |g, x| {
        let specs = [grid(), spec!["model", None]];
        g.shard_map((x[0], x[1]), &specs, &[rows()], |(x, w)| x.dot(w).psum("model"))
    }),
    ("pmean", |_, x| mapped(x[0], grid(), rows(), |x| x.exp().pmean("model"))),
    ("pmax", |_, x| mapped(x[0], rows(), spec![None, None], |x| x.pmax("data"))),
    ("pmin", |_, x| mapped(x[0], grid(), spec![None, None], |x| x.pmin(("data", "model")))),
    ("all_gather", |_, x| mapped(x[0], grid(), rows(), |x| x.all_gather("model", 1) * 2)),
    ("all_gather_order", |_, x| {
        mapped(x[0], both(), spec![None, None], |x| x.all_gather(["model", "data"], 0).cos())
    }),
    ("all_gather_stacked", |_, x| {
        mapped(x[0], rows(), spec![None, None, None], |x| x.all_gather_stacked("data", 0).square())
    }),
    ("all_gather_stacked_middle", |_, x| {
        mapped(x[0], rows(), spec![None, None, None], |x| x.all_gather_stacked("data", 1))
    }),
    ("all_gather_stacked_last", |_, x| {
        mapped(x[0], both(), spec![None, None, None], |x| x.all_gather_stacked(["data", "model"], -1))
    }),
    ("psum_scatter", |_, x| mapped(x[0], rows(), spec![None, "data"], |x| x.psum_scatter("data", 1))),
    ("psum_scatter_two", |_, x| {
        let to = spec![None, ("model", "data")];
        mapped(x[0], both(), to, |x| x.square().psum_scatter(["model", "data"], -1))
    }),
    ("psum_scatter_stacked", |_, x| mapped(x[0], deep(), rows(), |t| t.psum_scatter_stacked("data", 1))),
    ("all_to_all", |_, x| mapped(x[0], rows(), spec![None, "data"], |x| x.all_to_all("data", 1, 0))),
    ("all_to_all_back", |_, x| {
        mapped(x[0], spec![None, "data"], rows(), |x| x.tanh().all_to_all("data", 0, 1))
    }),
    ("all_to_all_same", |_, x| mapped(x[0], both(), both(), |x| x.all_to_all(["model", "data"], 1, 1))),
    ("all_to_all_stacked", |_, x| mapped(x[0], deep(), deep(), |t| t.all_to_all_stacked("data", 1, 2))),
    ("all_to_all_stacked_front", |_, x| {
        mapped(x[0], deep(), spec![None, "data", None], |t| t.all_to_all_stacked("data", 1, 0))
    }),
    ("all_to_all_stacked_last", |_, x| {
        mapped(x[0], deep(), deep(), |t| t.all_to_all_stacked("data", -2, -1))
    }),
    ("all_to_all_stacked_same", |_, x| mapped(x[0], deep(), deep(), |t| t.all_to_all_stacked("data", 1, 1))),
    ("ppermute", |_, x| mapped(x[0], rows(), rows(), |x| x.ppermute("data", &RING) * x)),
    ("ppermute_some", |_, x| mapped(x[0], rows(), rows(), |x| x.ppermute("data", &[(0, 2), (3, 0)]))),
    ("axis_index", |g, x| mapped(x[0], grid(), grid(), |x| x * g.axis_index("model").to(F32))),
    ("axis_index_two", |g, x| {
        mapped(x[0], grid(), grid(), |x| {
            let (a, b) = (g.axis_index(["model", "data"]), g.axis_index(["data", "model"]));
            x + (a * 10 + b).to(F32)
        })
    }),
    ("axis_size", |g, x| mapped(x[0], grid(), grid(), |x| x * g.axes_size(&["data", "model"]))),
    ("some_axes", |g, x| {
        let specs = [rows(), spec![None, None]];
        g.shard_map_over("data", (x[0], x[1]), &specs, &[spec![None, None]], |(x, w)| x.psum("data").dot(w))
    }),
    ("from_around", |g, x| {
        mapped(x[0], rows(), rows(), |block| block.dot(x[1].sin()) + g.axis_index("data").to(F32))
    }),
    ("in_a_loop", |g, x| {
        mapped(x[0], rows(), rows(), |x| {
            g.fori(0, 3, (x, x), |_, (total, block)| {
                let block = block.ppermute("data", &RING);
                (total + block, block)
            })
            .0
        })
    }),
    ("nested", |g, x| {
        g.shard_map_over("data", x[0], &[rows()], &[spec![None, None]], |x| {
            let columns = || [spec![None, "model"]];
            g.shard_map(x, &columns(), &columns(), |x| x.ppermute("model", &[(0, 1), (1, 0)])).psum("data")
        })
    }),
];

fn array(value: &Value) -> HostArray {
    let list = |name: &str| value[name].as_array().unwrap().clone();
    let shape: Vec<usize> = list("shape").iter().map(|n| n.as_u64().unwrap() as usize).collect();
    let data: Vec<f64> = list("data").iter().map(|n| n.as_f64().unwrap()).collect();
    HostArray::from_f64(F32, &shape, &data).unwrap()
}

/// Describes the difference between two arrays; `None` if they are close.
fn compare(what: &str, want: &HostArray, have: &HostArray) -> Option<String> {
    if want.shape != have.shape {
        return Some(format!("{what} is {}, not {}", have.ty(), want.ty()));
    }
    let scale = want.to_f64_vec().iter().fold(1.0f64, |most, n| most.max(n.abs()));
    let (want, have) = (want.to_f64_vec(), have.to_f64_vec());
    let off = want.iter().zip(&have).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    (off.is_nan() || off > 4e-6 * scale).then(|| format!("{what} is off by {off:e}"))
}

/// The program, and the names of its results.
fn program(mesh: &Mesh, make: Make, inputs: &[HostArray], with_gradients: bool) -> (Module, Vec<String>) {
    let g = Graph::new("step", mesh);
    let tensors: Vec<Tensor<'_>> = inputs
        .iter()
        .enumerate()
        .map(|(i, input)| g.parameter(&format!("x{i}"), input.shape.as_slice(), F32))
        .collect();
    let result = make(&g, &tensors);
    let mut returned = vec![("result".to_owned(), result)];
    if with_gradients {
        let weights = g.arange(result.num_elements(), F32).cos().reshape(result.shape());
        let gradients = g.grad((result * weights).sum(..), &tensors);
        returned.extend(gradients.into_iter().enumerate().map(|(i, d)| (format!("gradient {i}"), d)));
    }
    let named: Vec<(&str, Tensor<'_>)> = returned.iter().map(|(name, t)| (name.as_str(), *t)).collect();
    let module = g.finish(&named).unwrap_or_else(|errors| panic!("{errors}"));
    (module, returned.into_iter().map(|(name, _)| name).collect())
}

#[test]
fn collectives_and_gradients_match_jax() {
    let Some(client) = client().unwrap() else { return };
    let values: Value = serde_json::from_str(VALUES).unwrap();
    let axes = ["data", "model"];
    let in_order = Mesh::from_ids(&[0, 1, 2, 3, 4, 5, 6, 7], &[4, 2], &axes).unwrap();
    // The results do not depend on the device order.
    let mixed = Mesh::from_ids(&[3, 5, 0, 6, 7, 1, 4, 2], &[4, 2], &axes).unwrap();
    let mut wrong = String::new();
    for (name, make) in CASES {
        let value = &values[name];
        let inputs: Vec<HostArray> = value["inputs"].as_array().unwrap().iter().map(array).collect();
        let gradients = value["gradients"].as_array().unwrap();
        let want: Vec<HostArray> = std::iter::once(&value["result"]).chain(gradients).map(array).collect();
        for (mesh, mode) in
            [(&in_order, SpmdMode::Replica), (&in_order, SpmdMode::Partition), (&mixed, SpmdMode::Replica)]
        {
            let (module, names) = program(mesh, *make, &inputs, !gradients.is_empty());
            let have = Compiler::new()
                .spmd_mode(mode)
                .partition_module(module)
                .and_then(|output| Program::partitioned(&client, &output))
                .and_then(|program| program.run(&client, &inputs));
            match have {
                Err(error) => writeln!(wrong, "{name}, {mode:?}: {error}").unwrap(),
                Ok(have) => {
                    for ((what, want), have) in names.iter().zip(&want).zip(&have) {
                        if let Some(text) = compare(what, want, have) {
                            writeln!(wrong, "{name}, {mode:?}: {text}").unwrap();
                        }
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert_eq!(values.as_object().unwrap().len(), CASES.len());
}
