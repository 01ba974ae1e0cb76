//! Tests of `mark_sharding`: repeated and removed annotations, annotations copied from other tensors, and annotations of gradients and
//! results.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{DType::F32, Graph, Mesh, spec};
use shardc_ir::{Module, OpKind, ValueId};

fn graph() -> Graph {
    Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap())
}

fn text(module: &Module, sharding: shardc_ir::ShardingId) -> String {
    let sharding = module.shardings.get(sharding);
    sharding.display(&module.meshes[sharding.mesh])
}

/// Returns the constraints of the program, in order.
fn constraints(module: &Module) -> Vec<String> {
    let ops = module.bodies().flat_map(|body| module.walk(body));
    ops.filter_map(|op| match module.ops[op].kind {
        OpKind::ShardingConstraint(id) => Some(text(module, id)),
        _ => None,
    })
    .collect()
}

fn arguments(module: &Module) -> Vec<ValueId> {
    module.regions[module.funcs[module.entry().unwrap()].body.unwrap()].args.clone()
}

#[test]
fn a_parameter_is_marked_once() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32).mark_sharding(spec!["data", None]);
    // The first call repeats the same sharding: axis 0 is "data".
    x.mark_sharding(spec![0, None]).clear_sharding().mark_sharding(spec![None, "model"]);
    let module = g.finish(&[("y", -x)]).unwrap();
    let sharding = module.shardings.of(arguments(&module)[0]).unwrap();
    assert_eq!(text(&module, sharding), r#"[{}, {"model"}]"#);
    assert!(constraints(&module).is_empty());
}

#[test]
fn a_conflicting_mark_is_reported_with_the_first() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32).mark_sharding(spec!["data", None]);
    let y = g.parameter("y", [8, 4], F32).mark_sharding(spec![None, "model"]);
    x.mark_sharding(spec![None, "model"]);
    y.shard_like(x);
    g.mark_result_sharding("z", spec!["model", _]);
    g.mark_result_sharding("z", spec!["data", None]);
    let errors = g.finish(&[("z", x + y)]).unwrap_err();
    let texts: Vec<String> = errors.0.iter().map(|error| error.kind.to_string()).collect();
    assert_eq!(
        texts,
        [
            r#"the parameter has two different shardings: [{"data"}, {}] and [{}, {"model"}]"#,
            r#"the parameter has two different shardings: [{}, {"model"}] and [{"data"}, {}]"#,
            r#"the result "z" has two different shardings: [{"model"}, {?}] and [{"data"}, {}]"#,
        ]
    );
    assert!(errors.0.iter().all(|error| error.kind.code() == "SH0622" && error.operands.len() == 1));
    assert_eq!(errors.0[0].operands[0].name.as_deref(), Some("x"));
    assert!(errors.to_string().contains("clear_sharding"));
}

#[test]
fn repeated_marks_of_tensors_are_successive_constraints() {
    let g = graph();
    let y = (-g.parameter("x", [8, 4], F32)).mark_sharding(spec!["data", None]);
    let between = y.exp();
    // A repeated annotation has no effect.
    y.mark_sharding(spec![0, None]).mark_sharding(spec![None, "model"]).mark_sharding(spec![None, "model"]);
    let module = g.finish(&[("between", between), ("y", y)]).unwrap();
    assert_eq!(constraints(&module), [r#"[{"data"}, {}]"#, r#"[{}, {"model"}]"#]);
}

#[test]
fn a_tensor_is_marked_like_another() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32).mark_sharding(spec!["data", None]);
    let y = g.parameter("y", [8, 4], F32).shard_like(x);
    assert_eq!(y.sharding(), x.sharding());
    assert!((-y).shard_like(x).sharding().is_some());
    // Neither `a` nor `b` has an annotation; `shard_like` adds both to one sharding group.
    let (a, b) = (x.exp(), y.tanh());
    a.shard_like(b);
    let module = g.finish(&[("a", a), ("b", b)]).unwrap();
    let ops = module.bodies().flat_map(|body| module.walk(body));
    assert_eq!(ops.filter(|&op| matches!(module.ops[op].kind, OpKind::ShardingGroup { .. })).count(), 2);
}

#[test]
fn a_gradient_is_marked_as_its_tensor() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let y = x.mark_sharding_with_gradients(spec!["data", None]);
    assert!(x.sharding().is_none() && y.sharding().is_some());
    let dx = g.grad((y.sin() * y).sum(..), &x);
    let module = g.finish(&[("dx", dx)]).unwrap();
    assert_eq!(constraints(&module), [r#"[{"data"}, {}]"#; 2]);
    assert_eq!(module.funcs.len(), 1);
}

#[test]
fn results_are_sharded_by_name() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    g.mark_result_sharding("y", spec!["data", None]);
    g.mark_result_sharding("y", spec![0, None]);
    let module = g.finish(&[("z", x.exp()), ("y", -x)]).unwrap();
    let func = &module.funcs[module.entry().unwrap()];
    assert!(func.res_shardings[0].expand().is_none());
    assert_eq!(text(&module, func.res_shardings[1].unwrap()), r#"[{"data"}, {}]"#);
}

#[test]
fn marks_that_do_not_fit() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    x.shard_like(g.parameter("y", [8], F32));
    _ = x.mark_sharding_with_gradients(spec!["row", None]);
    g.mark_result_sharding("z", spec![None]);
    g.mark_result_sharding("y", spec!["data"]);
    let inside = g.shard_map_over(["data"], x, &[spec!["data", None]], &[spec!["data", None]], |x| {
        x.exp().mark_sharding(spec!["model", None]).mark_sharding(spec![None, "data"])
    });
    let errors = g.finish(&[("y", inside)]).unwrap_err();
    let lines = errors.0.iter().map(|error| {
        assert!(error.location.file().ends_with("marks.rs"), "{}", error.location);
        let hint = error.kind.hint().map_or(String::new(), |hint| format!("\n    {hint}"));
        format!("{}{hint}\n", error.kind)
    });
    insta::assert_snapshot!(lines.collect::<String>());
}
