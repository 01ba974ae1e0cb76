//! Results of a `shard_map` whose spec omits an axis: all devices along this axis must return the same value.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{
    DType::{F32, I32},
    Graph, Keep, Mesh, Tensor, spec,
};

const RING: [(i64, i64); 4] = [(0, 1), (1, 2), (2, 3), (3, 0)];

type Body = for<'g> fn(&'g Graph, Tensor<'g>, Tensor<'g>) -> Tensor<'g>;

/// Returns the errors of a `shard_map` whose result is declared replicated. The body takes a block of `x`, sharded over "data", and
/// the replicated `w`.
fn errors(mesh: &Mesh, body: Body) -> Vec<String> {
    let g = Graph::new("step", mesh);
    let (x, w) = (g.parameter("x", [8, 4], F32), g.parameter("w", [2, 4], F32));
    let specs = [spec!["data", None], spec![None, None]];
    let y = g.shard_map((x, w), &specs, &[spec![None, None]], |(x, w)| body(&g, x, w));
    let errors = g.finish(&[("y", y)]).map_or_else(|errors| errors.0, |_| Vec::new());
    let text = |error: &shardc_graph::GraphError| {
        assert!(error.location.file().ends_with("replicated.rs"), "{}", error.location);
        assert_eq!((error.kind.code(), error.operands.len()), ("SH0623", 1), "{error}");
        format!("{}; {}", error.kind, error.kind.hint().unwrap())
    };
    errors.iter().map(text).collect()
}

fn meshes() -> [Mesh; 2] {
    [
        Mesh::new(&[("data", 4), ("model", 2)]).unwrap(),
        Mesh::from_ids(&[3, 5, 0, 6, 7, 1, 4, 2], &[4, 2], &["data", "model"]).unwrap(),
    ]
}

/// Creates a psum whose gradient is the identity, as at the end of a layer with Megatron's tensor parallelism.
fn megatron<'g>(g: &'g Graph, x: Tensor<'g>) -> Tensor<'g> {
    g.custom_vjp(x, |x| (x.psum("data"), ()), |(), dy| dy)
}

/// Creates a loop whose first carried value differs between devices from the second iteration on. An analysis that visits the body
/// once does not detect this.
fn fixed_point<'g>(g: &'g Graph, x: Tensor<'g>, w: Tensor<'g>) -> Tensor<'g> {
    g.fori(0, 3, (w, w, x), |_, (_, b, x)| (b, x, x)).0
}

#[test]
fn device_dependent_values_are_not_replicated_results() {
    let cases: &[(&str, Body)] = &[
        ("the block", |_, x, _| x),
        ("computed of it", |_, x, w| (x + w).tanh() * 2),
        ("the number of the device", |g, _, w| w * g.axis_index("data").to(F32)),
        ("a sum over another axis", |_, x, _| x.psum("model")),
        ("a part of a sum", |_, _, w| w.psum_scatter_stacked("model", 0).expand_dims(0).broadcast_to([2, 4])),
        ("exchanged", |_, _, w| w.ppermute("data", &[(0, 1)])),
        ("a sum by a ring", |g, x, _| {
            g.fori(0, 3, (x, x), |_, (sum, x)| {
                let x = x.ppermute("data", &RING);
                (sum + x, x)
            })
            .0
        }),
        ("carried by a loop", fixed_point),
        ("a loop that ends elsewhere", |g, _, w| {
            g.while_loop((w, g.axis_index("data")), |(_, i)| i.lt(2), |(w, i)| (w * 2, i + 1)).0
        }),
        ("a branch", |g, x, w| g.cond(x.sum(..).gt(0), || w, || w * 2)),
        ("in a unit", |g, x, _| g.checkpoint(Keep::Nothing, x, |x| x * 2)),
        ("in a function", |g, x, _| g.custom_vjp(x, |x| (x * 2, ()), |(), dy| dy * 2)),
        ("the number of the device, in a function", |g, _, w| {
            g.custom_vjp(w, |w| (w * w.graph().axis_index("data").to(F32), ()), |(), dy| dy)
        }),
        ("a gradient", |g, x, w| g.grad((x * w).sum(..), &w)),
        ("random numbers", |g, x, _| g.key(0).fold_in(g.axis_index("data")).uniform(x.shape(), F32, 0, 1)),
        ("both", |_, x, w| x.psum("data") + w + x),
    ];
    for mesh in meshes() {
        for (name, body) in cases {
            let found = errors(&mesh, *body);
            assert_eq!(found.len(), 1, "{name}: {found:?}");
            let axis = if name.contains("part") { "model" } else { "data" };
            assert!(
                found[0].contains(&format!("may differ between devices along {axis:?}")),
                "{name}: {found:?}"
            );
        }
    }
    assert_eq!(
        errors(&meshes()[0], |g, x, w| {
            let _ = w;
            x * g.axis_index(["data", "model"]).to(F32)
        }),
        [
            "result 0 of the shard_map may differ between devices along \"data\" and \"model\", which its specification [None, None] \
             does not contain; replicate it (psum, pmean or all_gather along \"data\" and \"model\"), or name \"data\" and \"model\" in its spec; \
             if it is known to be replicated, use assume_replicated"
        ]
    );
}

#[test]
fn device_independent_values_are_replicated_results() {
    let cases: &[(&str, Body)] = &[
        ("what is not split", |_, _, w| w * 2),
        ("a sum", |_, x, w| x.psum("data") * w),
        ("over both", |_, x, _| x.psum(["model", "data"])),
        ("a mean", |_, x, w| w - x.pmean("data")),
        ("the largest", |_, x, _| x.pmax("data")),
        ("gathered", |_, x, _| x.all_gather("data", 0).slice(0, 0..2)),
        ("scattered and gathered", |_, _, w| w.psum_scatter("model", 1).all_gather("model", 1)),
        ("sent around", |_, _, w| w.ppermute("data", &RING)),
        ("in a loop", |g, x, w| g.fori(0, 3, w, |_, w| (w * x).psum("data"))),
        ("a loop that ends together", |g, x, w| {
            g.while_loop(w, |w| (w.sum(..) + x.sum(..).psum("data")).lt(9), |w| w + 1)
        }),
        ("a branch", |g, x, w| g.cond(x.sum(..).psum("data").gt(0), || w, || w * 2)),
        ("in a unit", |g, x, _| g.checkpoint(Keep::Nothing, x, |x| x.psum("data"))),
        ("in a function", |g, x, _| megatron(g, x)),
        ("two calls of a function", |g, x, w| megatron(g, w) + megatron(g, x)),
        ("stopped", |_, x, _| x.psum("data").stop_gradient()),
        ("a gradient", |g, x, w| g.grad((x * w).sum(..), &w).psum("data")),
        ("what the number of the device makes no difference to", |g, _, w| {
            w * g.axis_index("data").max(3).to(F32)
        }),
        ("constants", |g, _, _| g.iota([2, 4], 0, I32).to(F32)),
        ("a ring that is said to sum", |g, x, _| {
            let sum = g.fori(0, 3, (x, x), |_, (sum, x)| {
                let x = x.ppermute("data", &RING);
                (sum + x, x)
            });
            sum.0.assume_replicated("data")
        }),
    ];
    for mesh in meshes() {
        for (name, body) in cases {
            assert_eq!(errors(&mesh, *body), [""; 0], "{name}");
        }
    }
}

#[test]
fn nested_shard_maps_are_checked_along_their_own_axes() {
    let inner = |left_out: bool| {
        let g = Graph::new("step", &meshes()[0]);
        let x = g.parameter("x", [8, 4], F32);
        let y = g.shard_map_over("data", x, &[spec!["data", None]], &[spec!["data", None]], |x| {
            let to = if left_out { spec![None, None] } else { spec![None, "model"] };
            let odd = g.axis_index("data") % 2;
            g.shard_map(x, &[spec![None, "model"]], &[to], |x| {
                // The branch depends only on the position along "data", but the operands of the branch differ along "model".
                g.cond(odd.eq(0), || x.psum("model"), || x) + x.psum(["data", "model"])
            })
        });
        g.finish(&[("y", y)]).map_or_else(|errors| errors.to_string(), |_| String::new())
    };
    assert_eq!(inner(false), "");
    let errors = inner(true);
    assert!(errors.contains("SH0623") && errors.contains("between devices along \"model\""), "{errors}");
    // At index 0 along "data", `max` returns 2 on both devices along "model"; at other indices, the two devices get different numbers.
    let g = Graph::new("step", &meshes()[0]);
    let x = g.parameter("x", [8, 4], F32);
    let y = g.shard_map_over("data", x, &[spec!["data", None]], &[spec!["data", None]], |x| {
        g.shard_map(x, &[spec![None, None]], &[spec![None, None]], |x| {
            x * g.axis_index(["data", "model"]).max(2).to(F32)
        })
    });
    let errors = g.finish(&[("y", y)]).unwrap_err().to_string();
    assert!(errors.contains("between devices along \"model\""), "{errors}");
}

#[test]
fn many_devices_and_few() {
    let result = |sizes: [i64; 2], sum: bool| {
        let g = Graph::new("step", &Mesh::new(&[("data", sizes[0]), ("model", sizes[1])]).unwrap());
        let x = g.parameter("x", [sizes[0] * 2], F32);
        let y = g.shard_map(x, &[spec!["data"]], &[spec![None]], |x| {
            let x = x * g.axis_index("data").to(F32);
            if sum { x.psum("data") } else { x }
        });
        g.finish(&[("y", y)]).is_ok()
    };
    assert!(result([1, 1], false), "one device is all devices");
    for sizes in [[1024, 8], [2, 1]] {
        assert!(result(sizes, true) && !result(sizes, false), "{sizes:?}");
    }
}

#[test]
fn nothing_is_assumed_outside_of_a_shard_map() {
    let g = Graph::new("step", &meshes()[0]);
    let _ = g.parameter("x", [8], F32).assume_replicated("data");
    assert!(g.finish(&[]).unwrap_err().to_string().contains("SH0621"));
}
