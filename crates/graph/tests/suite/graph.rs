//! The modules that graphs produce.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{
    DType::{self, BF16, F32, I1, I32},
    DotDims, Graph, GraphErrors, Mesh, OpKind, RegionBody, ScanOptions, Tensor, spec,
};
use shardc_ir::{Module, ValueDef, verify};

fn graph() -> Graph {
    Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap())
}

/// Returns the operations of the entry function with result types, one per line; operations of nested regions are indented.
fn listing(module: &Module) -> String {
    fn list(module: &Module, region: shardc_ir::RegionId, depth: usize, out: &mut String) {
        for &op in &module.regions[region].ops {
            let op = &module.ops[op];
            let types: Vec<String> =
                op.results.iter().map(|&v| module.types.display(module.values[v].ty)).collect();
            let line = format!("{}{} {}", "  ".repeat(depth), op.kind.name(), types.join(", "));
            *out += &(line.trim_end().to_owned() + "\n");
            for &region in &op.regions {
                list(module, region, depth + 1, out);
            }
        }
    }
    let mut out = String::new();
    list(module, module.funcs[module.entry().unwrap()].body.unwrap(), 0, &mut out);
    out
}

fn listing_of(make: impl FnOnce(&Graph) -> Tensor<'_>) -> String {
    let g = graph();
    let y = make(&g);
    listing(&g.finish(&[("y", y)]).unwrap())
}

#[test]
fn every_operation_gives_a_valid_module() -> Result<(), GraphErrors> {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let w = g.constant(&[0.5f32; 32], [4, 8]);
    let y = x.dot(w);
    let mut results = vec![
        y.abs(),
        y.acos(),
        y.cbrt(),
        y.ceil(),
        y.cos(),
        y.erf(),
        y.exp(),
        y.expm1(),
        y.floor(),
        y.log(),
        y.log1p(),
        y.logistic(),
        -y,
        y.round(),
        y.rsqrt(),
        y.sign(),
        y.sin(),
        y.sqrt(),
        y.tanh(),
        y.square(),
        y.reciprocal(),
    ];
    results.extend([y + y, y / y, y.max(y), y.min(y), y * y, y.pow(2), y % y, y - y, y.atan2(y)]);
    let masks = [y.eq(y), y.ne(y), y.lt(y), y.le(y), y.gt(y), y.ge(y)];
    results.extend(masks);
    results.extend([masks[0] & masks[1], masks[0] | masks[1], masks[0] ^ true, !masks[0]]);
    let (scalar, by_reference) = (g.scalar(2.0, F32), &y);
    results.push(by_reference + 2 * by_reference);
    results.extend([y * scalar, 1.0 - y, y.clamp(0.0, scalar), masks[0].select(y, 0.0)]);
    let half = y.to(BF16);
    results.extend([half, half.to(BF16), y.reshape([4, -1]), x.t(), y.amax(0).broadcast_to([3, 8, 8])]);
    results.extend([
        y.amax(0).broadcast_in_dim([8, 2], &[0]),
        y.slice(0, 2..4),
        y.slice(1, -3..),
        y.at(0, -1),
    ]);
    results.extend([
        y.expand_dims(-1),
        y.expand_dims(0).squeeze(..),
        y.flip(0),
        y.roll(3, 1),
        y.tile(&[2, 1]),
    ]);
    results.extend(y.split(1, 2));
    results.extend([g.concatenate(&[y, y], 1), g.stack(&[y, y], 1), y.pad(0, &[1, 0], &[0, 2])]);
    results.extend([y.sum(..), y.prod(0), y.amax([0, 1]), y.amin(-1), y.mean(..), y.var(0), y.logsumexp(1)]);
    results.extend([y.sum_keepdims(0), masks[0].all(..), masks[0].any_keepdims(1)]);
    results.extend([g.full([2], 1.0, I1), g.constant(&[1i32, 2], [2]), g.constant(&[true, false], [2])]);
    let batched = y.broadcast_to([3, 8, 8]);
    results.extend([batched.matmul(y), y.matmul(batched), batched.move_axis(0, 2)]);
    let dims = DotDims::contracting(&[-1], &[1]).batching(&[0], &[0]).accumulating(F32);
    results.push(batched.to(BF16).dot_general(batched.to(BF16), &dims));
    let at = g.arange(8, I32).sum(..);
    results.extend([y.dynamic_index(0, at), y.dynamic_update(y.slice(0, ..2), &[at, at])]);
    results.push(g.op(OpKind::Reverse { dims: [1].into_iter().collect() }, &[y]));
    results.extend(g.custom_call("their.kernel", &[y], &[(&[8], F32), (&[], I32)]));
    let sorted = RegionBody::of_scalars(2, F32, |args| vec![args[0].lt(args[1])]);
    results.extend(g.op_with_regions(OpKind::Sort { dim: Some(0), stable: None }, &[y], 1, vec![sorted]));
    results.push(y.stop_gradient());
    let names: Vec<String> = (0..results.len()).map(|i| format!("r{i}")).collect();
    let named: Vec<(&str, Tensor<'_>)> = names.iter().map(String::as_str).zip(results).collect();
    let module = g.finish(&named)?;
    insta::assert_snapshot!(listing(&module));
    Ok(())
}

#[test]
fn control_flow() {
    let text = listing_of(|g| {
        let x = g.parameter("x", [8, 4], F32);
        let w = g.parameter("w", [4, 4], F32);
        let (h, ys) = g.scan(g.zeros([4], F32), x, |h, x| {
            let h = (h.dot(w) + x).tanh();
            (h, h.sum(0))
        });
        let options = ScanOptions { reverse: true, length: Some(3) };
        let (total, ()) = g.scan_with(options, h, (), |h, ()| (h * 2, ()));
        let count = g.fori(0, 5, ys.sum(..), |i, sum| sum + i.to(F32));
        let end = g.while_loop((count, total), |(count, _)| count.lt(100), |(count, t)| (count + 1, t * 0.5));
        g.cond(
            end.0.gt(0),
            || end.1,
            || g.switch(g.scalar(1.0, I32), || -end.1, vec![Box::new(|| end.1 + count)]),
        )
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_gradient_is_part_of_the_graph() {
    let text = listing_of(|g| {
        let x = g.parameter("x", [8, 4], F32);
        let w = g.parameter("w", [4, 2], F32);
        let y = x.dot(w);
        let [dx, dw] = g.grad((y * y.stop_gradient()).sum(..), &[x, w]);
        // Tensors created before `grad` stay valid, and gradients can be differentiated again.
        dw.dot(y.t()).sum(..) + g.grad(dx.square().sum(..), &w).sum(..)
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_gradient_in_a_loop_is_per_iteration() {
    let text = listing_of(|g| {
        let w = g.parameter("w", [4], F32);
        let xs = g.parameter("xs", [3, 4], F32);
        let (sum, ()) = g.scan(w.zeros_like(), xs, |sum, x| (sum + g.grad((w * x).square().sum(..), &w), ()));
        sum
    });
    insta::assert_snapshot!(text);
}

#[test]
fn a_marked_parameter_is_annotated() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let y = -x;
    x.mark_sharding(spec!["data", _]);
    let module = g.finish(&[("y", y)]).unwrap();
    let func = &module.funcs[module.entry().unwrap()];
    let arg = module.regions[func.body.unwrap()].args[0];
    let sharding = module.shardings.sharding_of(arg).unwrap();
    assert_eq!(sharding.display(&module.meshes[sharding.mesh]), r#"[{"data"}, {?}]"#);
    assert_eq!(listing(&module), "stablehlo.negate tensor<8x4xf32>\nstablehlo.return\n");
}

#[test]
fn a_marked_intermediate_is_constrained() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let y = -x;
    let before = y.abs();
    y.mark_sharding(spec!["data", "model"]);
    assert!(y.sharding().is_some() && before.sharding().is_none());
    let after = y.exp();
    let module = g.finish(&[("before", before), ("y", y), ("after", after)]).unwrap();
    let body = module.funcs[module.entry().unwrap()].body.unwrap();
    let [neg, abs, constraint, exp, end] = module.regions[body].ops[..] else { panic!() };
    let result = |op| module.ops[op].results[0];
    assert!(matches!(module.ops[constraint].kind, OpKind::ShardingConstraint(_)));
    assert_eq!(module.ops[abs].operands[0], result(neg));
    assert_eq!(module.ops[exp].operands[0], result(constraint));
    assert_eq!(module.ops[end].operands.to_vec(), [result(abs), result(constraint), result(exp)]);
}

#[test]
fn a_mark_in_a_closure_stays_there() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let y = -x;
    let sum = g.fori(0, 3, x, |_, x| x + y.mark_sharding(spec!["data", None]));
    assert!(y.sharding().is_none());
    let module = g.finish(&[("sum", sum), ("y", y)]).unwrap();
    let text = listing(&module);
    assert!(text.contains("  sdy.sharding_constraint"), "{text}");
}

#[test]
fn a_mark_is_removed() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32).mark_sharding(spec!["data", None]);
    let y = (-x).mark_sharding(spec!["data", None]).mark_sharding(spec![None, "model"]);
    x.clear_sharding();
    y.clear_sharding();
    assert!(x.sharding().is_none() && y.sharding().is_none());
    g.finish(&[("y", y)]).unwrap();
}

#[test]
fn numbers_become_constants_of_the_other_operand_type() {
    let text = listing_of(|g| 2 * g.parameter("x", [8], BF16));
    assert_eq!(
        text,
        "stablehlo.constant tensor<8xbf16>\nstablehlo.multiply tensor<8xbf16>\nstablehlo.return\n"
    );
}

#[test]
fn names_and_lines_are_kept() {
    let g = graph();
    let x = g.parameter("x", [8, 4], F32);
    let (y, line) = (x.sum(0), line!());
    let module = g.finish(&[("total", y)]).unwrap();
    verify(&module).unwrap();
    assert_eq!(module.name.as_deref(), Some("step"));
    let func = &module.funcs[module.entry().unwrap()];
    let ValueDef::Result(op, _) =
        module.values[module.ops[module.terminator(func.body.unwrap()).unwrap()].operands[0]].def()
    else {
        panic!()
    };
    assert!(module.user_loc(op).unwrap().contains(&format!("graph.rs:{line}:")));
    let loc = func.arg_locs[0].expand().unwrap();
    assert!(matches!(module.locs.get(loc), shardc_ir::Loc::Name { name, .. } if &**name == "x"));
    assert_eq!(func.res_attrs[0].get("jax.result_info"), Some(&shardc_ir::Attr::Str("total".into())));
}

#[test]
fn shapes_can_be_queried() {
    let g = graph();
    let x = g.parameter("x", [8, 4], DType::F64);
    let [rows, columns] = x.dims();
    assert_eq!((rows, columns, x.size(-1), x.rank(), x.num_elements()), (8, 4, 4, 2, 32));
    assert_eq!((x.dtype(), format!("{x:?}")), (DType::F64, "f64[8, 4]".to_owned()));
}

#[test]
fn narrow_integers_are_widened_to_hold_the_last_index() {
    let g = Graph::new("step", &Mesh::new(&[]).unwrap());
    let (x, i) = (g.parameter("x", [300], F32), g.parameter("i", (), shardc_graph::DType::UI8));
    let outputs = [("taken", x.take(i, 0)), ("at", x.dynamic_index(0, i))];
    let near = x.sum(..) + g.parameter("y", [200], F32).take(i, 0);
    let module = g.finish(&[outputs[0], outputs[1], ("near", near)]).unwrap();
    let is_converted = |op: &&shardc_ir::Op| matches!(op.kind, shardc_ir::OpKind::Convert);
    assert_eq!(module.ops.values().filter(is_converted).count(), 2, "200 is a number of 8 bits");
}
