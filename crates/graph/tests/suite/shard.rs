//! Ways to name a sharding: partition specs, meshes of slices, rules for logical axes, annotations on gradients.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{
    AxisRules,
    DType::{C64, F32, I32},
    Graph, Mesh, Tensor, spec,
};
use shardc_ir::OpKind;

fn mesh() -> Mesh {
    Mesh::new(&[("data", 4), ("model", 2)]).unwrap()
}

fn errors(make: impl FnOnce(&Graph)) -> String {
    let g = Graph::new("step", &mesh());
    make(&g);
    g.finish(&[]).unwrap_err().to_string()
}

#[test]
fn equivalent_specs_give_equal_shardings() {
    let maybe = Some("model");
    let pair: Vec<&str> = vec!["data", "model"];
    for (a, b) in [
        (spec!["data", "model"], spec![0, 1]),
        (spec!["data", maybe], spec!["data", "model"]),
        (spec![("data", "model"), None], spec![["data", "model"], None]),
        (spec![("data", "model"), None], spec![(0, 1), None]),
        (spec![pair, None], spec![["data", 1], None]),
    ] {
        let g = Graph::new("step", &mesh());
        let marked = |name: &str, spec| g.parameter(name, [8, 8], F32).mark_sharding(spec).sharding();
        let (x, y) = (marked("x", a.clone()), marked("y", b));
        assert!(x.is_some() && x == y, "{a}");
    }
    let unnamed = Graph::new("step", &Mesh::unnamed(&[4, 2]).unwrap());
    assert!(unnamed.parameter("x", [8, 8], F32).mark_sharding(spec![1, 0]).sharding().is_some());
    let text = errors(|g| _ = g.parameter("x", [8, 8], F32).mark_sharding(spec![2, None]));
    assert!(
        text.contains("the mesh has no axis \"2\"") && text.contains("\"data\" (4), \"model\" (2)"),
        "{text}"
    );
    let text = errors(|g| _ = g.parameter("x", [8, 8], F32).mark_sharding(spec![0, "data"]));
    assert!(text.contains("twice"), "{text}");
}

/// The expected devices are those of `np.block`, with which `jax.experimental.mesh_utils.create_hybrid_device_mesh` combines slices.
#[test]
fn a_mesh_of_slices_keeps_devices_of_a_slice_together() {
    let ids = |ici: &[i64], dcn: &[i64], slices: &[i64]| {
        let names = ["a", "b", "c"];
        let mesh = Mesh::hybrid(ici, dcn, &names[..ici.len()], slices).unwrap();
        mesh.as_ir().device_ids.clone().unwrap()
    };
    assert_eq!(ids(&[2, 2], &[2, 1], &[0, 0, 0, 0, 1, 1, 1, 1]), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(ids(&[2, 2], &[1, 2], &[0, 1, 0, 1, 0, 1, 0, 1]), [0, 2, 1, 3, 4, 6, 5, 7]);
    let slices = [3, 3, 3, 3, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2];
    assert_eq!(ids(&[2, 1, 2], &[2, 2, 1], &slices), [4, 5, 8, 9, 6, 7, 10, 11, 12, 13, 0, 1, 14, 15, 2, 3]);
}

#[test]
fn invalid_slice_meshes_are_reported() {
    let wrong = |ici: &[i64], dcn: &[i64], slices: &[i64]| {
        let error = Mesh::hybrid(ici, dcn, &["a"], slices).unwrap_err();
        assert!(error.location.file().ends_with("shard.rs"), "{}", error.location);
        format!("{}\n", error.kind)
    };
    let texts = [
        wrong(&[2], &[2, 2], &[0, 0, 1, 1]),
        wrong(&[2], &[2], &[0, 0]),
        wrong(&[1, 2], &[2, 2], &[0, 0, 1, 1]),
        wrong(&[2], &[2], &[0, 0, 0, 1]),
        wrong(&[-1], &[-2], &[0, 0]),
        wrong(&[i64::MAX, 4], &[1, 1], &[0]),
        wrong(&[2, 2], &[1, 1], &[0, 0, 0, 0]),
    ];
    insta::assert_snapshot!(texts.concat());
    let unnamed = Mesh::hybrid(&[2, 1], &[1, 2], &[], &[0, 0, 1, 1]).unwrap();
    assert_eq!(unnamed, Mesh::from_ids(&[0, 2, 1, 3], &[2, 2], &["0", "1"]).unwrap());
}

/// The expected specs are those of `flax.linen.logical_to_mesh_axes`.
#[test]
fn logical_axes_map_as_in_flax() {
    let rules =
        AxisRules::new(&[("batch", "data"), ("hidden", "model"), ("embed", "data"), ("embed", "model")])
            .and("heads", &["data", "model"])
            .leave("seq");
    let of = |names: &[&str]| rules.spec(names).unwrap();
    assert_eq!(of(&["batch", "embed"]), spec!["data", "model"]);
    assert_eq!(of(&["embed", "hidden"]), spec!["data", "model"]);
    assert_eq!(of(&["embed", "batch"]), spec!["model", "data"]);
    assert_eq!(of(&["heads", "seq"]), spec![("data", "model"), None]);
    assert_eq!(of(&["batch", "heads"]), spec!["data", None]);
    assert_eq!(of(&["hidden", "embed", "batch"]), spec!["model", None, "data"]);
    assert_eq!(of(&["seq", "embed"]), spec![None, "data"]);
    assert_eq!(of(&["", "embed"]), spec![None, "data"]);
    let unknown = rules.spec(&["batch", "length"]).unwrap_err().to_string();
    assert!(
        unknown
            .contains("no rule for the dimension name \"length\"; the rules are for \"batch\", \"hidden\""),
        "{unknown}"
    );
    assert!(
        rules.spec(&["seq", "seq"]).unwrap_err().to_string().contains("two dimensions are named \"seq\"")
    );
    let g = Graph::new("step", &mesh());
    let x = g.parameter("x", [8, 8], F32);
    assert_eq!(
        x.mark_logical(&rules, &["batch", "embed"]).sharding(),
        g.parameter("y", [8, 8], F32).mark_sharding(spec!["data", "model"]).sharding()
    );
}

#[test]
fn a_mark_applies_to_the_gradient() {
    let g = Graph::new("step", &mesh());
    let x = g.parameter("x", [8, 8], F32);
    let y = x.tanh().mark_sharding_with_gradients(spec!["data", None]);
    let dx = g.grad(y.square().sum(..), &x);
    let module = g.finish(&[("y", y), ("dx", dx)]).unwrap();
    let ops = module.bodies().flat_map(|body| module.walk(body));
    let constraints = ops.filter(|&op| matches!(module.ops[op].kind, OpKind::ShardingConstraint(_))).count();
    assert!(constraints >= 2, "{constraints} constraints");
}

#[test]
fn collectives_require_a_shard_map() {
    let text = errors(|g| _ = g.parameter("x", [8], F32).psum("data"));
    assert!(text.contains("SH0621") && text.contains("call collectives inside a shard_map"), "{text}");
    let over = |g: &Graph, what: &str| {
        let x = g.parameter("x", [8], F32);
        let _ = g.shard_map_over(["data"], x, &[spec!["data"]], &[spec![None]], |x| x.psum(what));
    };
    let text = errors(|g| over(g, "model"));
    assert!(
        text.contains("no enclosing shard_map has the manual axis \"model\"")
            && text.contains("manual axes of the shard_map are data"),
        "{text}"
    );
    let text = errors(|g| {
        let x = g.parameter("x", [6], F32);
        let _ = g.shard_map(x, &[spec!["data"]], &[spec!["data"]], |x| x);
    });
    assert!(text.contains("shard_map cannot shard [6] by [\"data\"]: 6 is not divisible by 4"), "{text}");
    let text = errors(|g| {
        let x = g.parameter("x", [8], F32);
        let _ = g.shard_map((x, x), &[spec!["data"]], &[spec!["data"]], |(x, _)| x);
    });
    assert!(text.contains("shard_map has 2 operands, but 1 partition specs for them"), "{text}");
    let text = errors(|g| {
        let x = g.parameter("x", [8], F32);
        let _ = g.shard_map(x, &[spec!["data"]], &[spec!["data"]], |x| x.ppermute("data", &[(0, 1), (2, 1)]));
    });
    assert!(text.contains("the pair (2, 1)"), "{text}");
}

#[test]
fn errors_in_a_shard_map_are_reported() {
    let over = |make: for<'g> fn(Tensor<'g>) -> Tensor<'g>| {
        let g = Graph::new("step", &mesh());
        let x = g.parameter("x", [8, 4], F32);
        let y = g.shard_map_over("data", x, &[spec!["data", None]], &[spec![_, _]], make);
        // Operations that depend on the poisoned `y` report no further errors.
        let _ = y.exp().dot(y);
        let errors = g.finish(&[("y", y)]).unwrap_err();
        let line = |error: &shardc_graph::GraphError| {
            assert!(error.location.file().ends_with("shard.rs"), "{}", error.location);
            let operands: String = error.operands.iter().map(|operand| format!("\n    {operand}")).collect();
            let hint = error.kind.hint().map_or(String::new(), |hint| format!("\n    {hint}"));
            format!("{}{operands}{hint}\n", error.kind)
        };
        errors.0.iter().map(line).collect::<String>()
    };
    let texts = [
        over(|x| x.gt(0).psum("data").to(F32)),
        over(|x| x.to(I32).pmean("data").to(F32)),
        over(|x| x.to(C64).pmax("data").real()),
        over(|x| x.psum(["data", "data"])),
        over(|x| x.psum("dat")),
        over(|x| x.all_gather("data", 2)),
        over(|x| x.all_gather_stacked("data", 3)),
        over(|x| x.psum_scatter("data", 0)),
        over(|x| x.psum_scatter_stacked("data", 0)),
        over(|x| x.all_to_all("data", 0, 1)),
        over(|x| x.all_to_all_stacked("data", 0, 1)),
        over(|x| x.all_to_all_stacked("data", 1, i64::MAX)),
        over(|x| x.ppermute("data", &[(0, 4)])),
        over(|x| x.graph().axis_index("model").to(F32) + x),
        over(|x| {
            x.graph().shard_map_over(["model", "model"], x, &[spec![None, None]], &[spec![None, None]], |x| x)
        }),
        over(|x| x.graph().shard_map_over("data", x, &[spec![None, None]], &[spec![None, None]], |x| x)),
        over(|x| {
            x.graph().shard_map_over("row", x, &[spec![None, None]], &[spec![None, None]], |x| x.psum("row"))
        }),
        over(|x| x.graph().shard_map_over("model", x, &[spec!["data", None]], &[spec![None, None]], |x| x)),
        over(|x| x.graph().shard_map(x, &[spec!["model", None]], &[spec!["model"]], |x| x)),
        over(|x| {
            let whole = [spec![None, None]];
            x.graph().shard_map(x, &whole, &whole, |x| x.graph().shard_map(x, &whole, &whole, |x| x))
        }),
    ];
    insta::assert_snapshot!(texts.concat());
}

#[test]
fn shard_map_device_count_overflow_is_an_error() {
    let g = Graph::new("step", &mesh());
    let x = g.parameter("x", [1i64 << 55], shardc_graph::DType::I8);
    let _ = g.shard_map(x, &[spec![None]], &[spec!["data"]], |x| x);
    let _ = g.shard_map(x, &[spec![None]], &[spec![None]], |x| x.all_gather("data", 0));
    let errors = g.finish(&[]).unwrap_err();
    assert_eq!(errors.0.len(), 2, "{errors}");
}
