//! The modules that graphs become.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{CompareDirection, DType, DotDims, Graph, GraphError, Mesh, Tensor, spec};
use shardc_ir::{Module, OpKind, ValueDef, verify};

fn graph() -> Graph {
    Graph::new("step", Mesh::new(&[("data", 4), ("model", 2)]).unwrap())
}

/// The operations of the entry function with result types, one per line.
fn listing(module: &Module) -> String {
    let func = &module.funcs[module.entry().unwrap()];
    let line = |&op: &_| {
        let op = &module.ops[op];
        let types: Vec<String> =
            op.results.iter().map(|&v| module.types.display(module.values[v].ty)).collect();
        format!("{} {}", op.kind.name(), types.join(", ")).trim_end().to_owned() + "\n"
    };
    module.regions[func.body.unwrap()].ops.iter().map(line).collect()
}

fn listing_of(make: impl FnOnce(&mut Graph) -> Result<Tensor, GraphError>) -> String {
    let mut g = graph();
    let y = make(&mut g).unwrap();
    listing(&g.finish(&[("y", y)]).unwrap())
}

#[test]
fn every_operation_gives_a_valid_module() -> Result<(), GraphError> {
    let mut g = graph();
    let x = g.parameter("x", [8, 4], DType::F32)?;
    let w = g.constant_f32(&[0.5; 32], [4, 8])?;
    let mut results = Vec::new();
    let y = g.dot(x, w)?;
    for unary in [
        Graph::abs,
        Graph::ceil,
        Graph::cos,
        Graph::exp,
        Graph::floor,
        Graph::log,
        Graph::log1p,
        Graph::logistic,
        Graph::neg,
        Graph::relu,
        Graph::rsqrt,
        Graph::sign,
        Graph::sin,
        Graph::sqrt,
        Graph::tanh,
    ] {
        results.push(unary(&mut g, y)?);
    }
    for binary in
        [Graph::add, Graph::div, Graph::max, Graph::min, Graph::mul, Graph::pow, Graph::rem, Graph::sub]
    {
        results.push(binary(&mut g, y, y)?);
    }
    let mut masks = Vec::new();
    for comparison in [Graph::eq, Graph::ne, Graph::lt, Graph::le, Graph::gt, Graph::ge] {
        masks.push(comparison(&mut g, y, y)?);
    }
    for logical in [Graph::and, Graph::or, Graph::xor] {
        masks.push(logical(&mut g, masks[0], masks[1])?);
    }
    masks.push(g.not(masks[0])?);
    results.extend(&masks);
    let scalar = g.scalar(2.0, DType::F32)?;
    results.push(g.mul(y, scalar)?);
    results.push(g.sub(1.0, y)?);
    results.push(g.clamp(0.0, y, scalar)?);
    results.push(g.select(masks[0], y, 0.0)?);
    let half = g.convert(y, DType::BF16)?;
    results.push(half);
    assert_eq!(g.convert(half, DType::BF16)?, half);
    results.push(g.reshape(y, [4, 16])?);
    results.push(g.transpose(x, &[1, 0])?);
    let row = g.reduce_max(y, &[0])?;
    results.push(g.broadcast_to(row, [3, 8, 8])?);
    results.push(g.broadcast_in_dim(row, [8, 2], &[0])?);
    results.push(g.slice(y, &[2, 0], &[4, 8])?);
    results.push(g.concatenate(&[y, y], 1)?);
    results.push(g.pad(y, scalar, &[1, 0], &[0, 2])?);
    for reduce in
        [Graph::reduce_sum, Graph::reduce_prod, Graph::reduce_max, Graph::reduce_min, Graph::reduce_mean]
    {
        results.push(reduce(&mut g, y, &[0, 1])?);
    }
    let count = g.iota([8, 4], 1, DType::I32)?;
    results.push(g.reduce_max(count, &[1])?);
    results.push(g.full([2], 1.0, DType::I1)?);
    results.push(g.constant_i32(&[1, 2], [2])?);
    results.push(g.constant(&[true, false], [2])?);
    let batched = g.broadcast_to(y, [3, 8, 8])?;
    results.push(g.dot_general(
        batched,
        batched,
        &DotDims {
            left_batch: vec![0],
            right_batch: vec![0],
            left_contract: vec![2],
            right_contract: vec![1],
        },
    )?);
    results.push(g.op(OpKind::Reverse { dims: [1].into_iter().collect() }, &[y])?);
    results.push(g.compare(CompareDirection::LT, count, 2)?);
    let names: Vec<String> = (0..results.len()).map(|i| format!("r{i}")).collect();
    let named: Vec<(&str, Tensor)> = names.iter().map(String::as_str).zip(results).collect();
    let module = g.finish(&named)?;
    insta::assert_snapshot!(listing(&module));
    Ok(())
}

#[test]
fn a_marked_parameter_is_annotated() -> Result<(), GraphError> {
    let mut g = graph();
    let x = g.parameter("x", [8, 4], DType::F32)?;
    let y = g.neg(x)?;
    g.mark_sharding(x, spec!["data", _])?;
    let module = g.finish(&[("y", y)])?;
    let func = &module.funcs[module.entry().unwrap()];
    let arg = module.regions[func.body.unwrap()].args[0];
    let sharding = module.shardings.sharding_of(arg).unwrap();
    assert_eq!(sharding.display(&module.meshes[sharding.mesh]), r#"[{"data"}, {?}]"#);
    assert_eq!(listing(&module), "stablehlo.negate tensor<8x4xf32>\nstablehlo.return\n");
    Ok(())
}

#[test]
fn a_marked_intermediate_is_constrained_from_there_on() -> Result<(), GraphError> {
    let mut g = graph();
    let x = g.parameter("x", [8, 4], DType::F32)?;
    let y = g.neg(x)?;
    let before = g.abs(y)?;
    let same = g.mark_sharding(y, spec!["data", "model"])?;
    assert_eq!(same, y);
    assert!(g.sharding(y)?.is_some() && g.sharding(before)?.is_none());
    let after = g.exp(y)?;
    let module = g.finish(&[("before", before), ("y", y), ("after", after)])?;
    let body = module.funcs[module.entry().unwrap()].body.unwrap();
    let [neg, abs, constraint, exp, end] = module.regions[body].ops[..] else { panic!() };
    let result = |op| module.ops[op].results[0];
    assert!(matches!(module.ops[constraint].kind, OpKind::ShardingConstraint(_)));
    assert_eq!(module.ops[abs].operands[0], result(neg));
    assert_eq!(module.ops[exp].operands[0], result(constraint));
    assert_eq!(module.ops[end].operands.to_vec(), [result(abs), result(constraint), result(exp)]);
    Ok(())
}

#[test]
fn numbers_become_constants_of_the_type_beside_them() {
    let text = listing_of(|g| {
        let x = g.parameter("x", [8], DType::BF16)?;
        g.mul(2, x)
    });
    assert_eq!(
        text,
        "stablehlo.constant tensor<8xbf16>\nstablehlo.multiply tensor<8xbf16>\nstablehlo.return\n"
    );
}

#[test]
fn names_and_lines_are_kept() -> Result<(), GraphError> {
    let mut g = graph();
    let x = g.parameter("x", [8, 4], DType::F32)?;
    let (y, line) = (g.reduce_sum(x, &[0])?, line!());
    let module = g.finish(&[("total", y)])?;
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
    Ok(())
}
