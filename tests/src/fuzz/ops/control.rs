//! Operations with regions, calls, and sharding annotations.

use super::piece::{Piece, Tensor, ty};
use super::sums::number_type;

pub(super) fn while_loop(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (number_type(p), p.shape());
    let x = p.numbers(&shape, elem);
    let y = p.numbers(&shape, elem);
    let zero = p.constant(&[], "i32", "0");
    let end = p.scalar("i32", 3);
    let k = p.fresh();
    let t = ty(&shape, elem);
    let i = ty(&[], "i32");
    // In one of two cases, the loop swaps its two values, which then need the same sharding.
    let exchanges = p.chance(2, "values change places");
    let back = if exchanges { format!("%{k}y, %{k}s") } else { format!("%{k}s, %{k}y") };
    let regions = format!(
        "{{ ^bb0(%{k}i: {i}, %{k}x: {t}, %{k}y: {t}): %{k}c = \"stablehlo.compare\"(%{k}i, {}) <{{comparison_direction = #stablehlo<comparison_direction LT>}}> : ({i}, {i}) -> tensor<i1> \"stablehlo.return\"(%{k}c) : (tensor<i1>) -> () }}, {{ ^bb0(%{k}i: {i}, %{k}x: {t}, %{k}y: {t}): %{k}one = \"stablehlo.constant\"() <{{value = dense<1> : {i}}}> : () -> {i} %{k}n = \"stablehlo.add\"(%{k}i, %{k}one) : ({i}, {i}) -> {i} %{k}s = \"stablehlo.add\"(%{k}x, %{k}y) : ({t}, {t}) -> {t} \"stablehlo.return\"(%{k}n, {back}) : ({i}, {t}, {t}) -> () }}",
        end.name
    );
    let all = p.op(name, &[&zero, &x, &y], "", &regions, &[(&[], "i32"), (&shape, elem), (&shape, elem)]);
    all[1..].iter().for_each(|t| p.result(t));
    Some(())
}

pub(super) fn branches(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (number_type(p), p.shape());
    let (x, y) = (p.numbers(&shape, elem), p.numbers(&shape, elem));
    let t = ty(&shape, elem);
    let count = if name == "stablehlo.if" { 2 } else { p.rng.of(&[1, 2, 3]) };
    p.note(format!("{count} branches"));
    let which = match name {
        "stablehlo.if" => p.numbers(&[], "i1"),
        _ => {
            // An out-of-range index selects the last branch.
            let at = p.rng.of(&[-1, 0, 1, 2, 5]);
            p.argument(&[], "i32", &format!("only {at}"))
        }
    };
    let regions: Vec<String> = (0..count)
        .map(|_| {
            let k = p.fresh();
            let op = p.rng.of(&["stablehlo.add", "stablehlo.subtract", "stablehlo.multiply"]);
            format!(
                "{{ %{k} = \"{op}\"({}, {}) : ({t}, {t}) -> {t} \"stablehlo.return\"(%{k}, {}) : ({t}, {t}) -> () }}",
                x.name, y.name, y.name
            )
        })
        .collect();
    let all = p.op(name, &[&which], "", &regions.join(", "), &[(&shape, elem), (&shape, elem)]);
    all.iter().for_each(|t| p.result(t));
    Some(())
}

pub(super) fn call(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (number_type(p), p.shape());
    let (x, y) = (p.numbers(&shape, elem), p.numbers(&shape, elem));
    let (k, t) = (p.fresh(), ty(&shape, elem));
    p.function(&format!(
        "func.func private @f{k}(%a: {t}, %b: {t}) -> {t} {{\n  %0 = stablehlo.add %a, %b : {t}\n  return %0 : {t}\n}}"
    ));
    let times = p.rng.of(&[1, 2, 3]);
    p.note(format!("{times} times"));
    let mut last = x;
    for _ in 0..times {
        let attributes = match name {
            "func.call" => format!("callee = @f{k}"),
            _ => format!("decomposition = @f{k}, name = \"my.op\""),
        };
        last = p.op1(name, &[&last, &y], &attributes, "", &shape, elem);
    }
    p.result(&last);
    Some(())
}

pub(super) fn scan(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(&["f32", "i32"]);
    let shape = p.shape();
    (!shape.contains(&0)).then_some(())?;
    let dim = p.rng.below(shape.len());
    let mut row = shape.clone();
    row.remove(dim);
    let (x, init) = (p.numbers(&shape, elem), p.numbers(&row, elem));
    let k = p.fresh();
    let t = ty(&row, elem);
    let region = format!(
        "{{ ^bb0(%{k}x: {t}, %{k}c: {t}): %{k}s = \"stablehlo.add\"(%{k}x, %{k}c) : ({t}, {t}) -> {t} \"stablehlo.return\"(%{k}s, %{k}s) : ({t}, {t}) -> () }}"
    );
    let mut attributes = format!("dimension = {dim} : i64, ");
    if p.chance(2, "associative") {
        attributes.push_str("is_associative = true, ");
    }
    if p.chance(2, "reverse") {
        attributes.push_str("is_reverse = true, ");
    }
    attributes.push_str("operandSegmentSizes = array<i32: 1, 1>, resultSegmentSizes = array<i32: 1, 1>");
    let all = p.op(name, &[&x, &init], &attributes, &region, &[(&shape, elem), (&row, elem)]);
    all.iter().for_each(|t| p.result(t));
    Some(())
}

pub(super) fn barrier(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (a, b) = (p.shape(), p.shape());
    let (x, y) = (p.numbers(&a, "f32"), p.numbers(&b, "i32"));
    let all = p.op(name, &[&x, &y], "", "", &[(&a, "f32"), (&b, "i32")]);
    all.iter().for_each(|t| p.result(t));
    Some(())
}

pub(super) fn tuple(p: &mut Piece<'_>, _: &'static str) -> Option<()> {
    let (a, b) = (p.shape(), p.shape());
    let (x, y) = (p.numbers(&a, "f32"), p.numbers(&b, "i32"));
    let k = p.fresh();
    let tuple = format!("tuple<{}, {}>", x.ty(), y.ty());
    p.line(&format!(
        "%{k} = \"stablehlo.tuple\"({}, {}) : ({}, {}) -> {tuple}",
        x.name,
        y.name,
        x.ty(),
        y.ty()
    ));
    for (i, t) in [x, y].into_iter().enumerate() {
        p.line(&format!(
            "%{k}e{i} = \"stablehlo.get_tuple_element\"(%{k}) <{{index = {i} : i32}}> : ({tuple}) -> {}",
            t.ty()
        ));
        p.result(&Tensor { name: format!("%{k}e{i}"), ..t });
    }
    Some(())
}

pub(super) fn constraint(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (number_type(p), p.shape());
    let x = p.numbers(&shape, elem);
    let attributes = match name {
        "sdy.propagation_barrier" => format!("allowed_direction = {} : i32", p.rng.below(3)),
        _ => format!("sharding = #sdy.sharding{}", p.mesh.sharding(p.rng, shape.len())),
    };
    let y = p.op1(name, &[&x], &attributes, "", &shape, elem);
    let z = p.op1("stablehlo.add", &[&y, &y], "", "", &shape, elem);
    p.result(&z);
    Some(())
}

pub(super) fn named(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (number_type(p), p.shape());
    let x = p.numbers(&shape, elem);
    let (k, t) = (p.fresh(), ty(&shape, elem));
    let mut attributes = "name = \"stage\"".to_owned();
    if p.chance(2, "shardings") {
        let (a, b) = (p.mesh.sharding(p.rng, shape.len()), p.mesh.sharding(p.rng, shape.len()));
        attributes = format!(
            "in_shardings = #sdy.sharding_per_value<[{a}]>, {attributes}, out_shardings = #sdy.sharding_per_value<[{b}]>"
        );
    }
    let region = format!(
        "{{ ^bb0(%{k}a: {t}): %{k}b = \"stablehlo.add\"(%{k}a, %{k}a) : ({t}, {t}) -> {t} \"sdy.return\"(%{k}b) : ({t}) -> () }}"
    );
    let z = p.op1(name, &[&x], &attributes, &region, &shape, elem);
    p.result(&z);
    Some(())
}

pub(super) fn group(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (number_type(p), p.shape());
    let (x, y) = (p.numbers(&shape, elem), p.numbers(&shape, elem));
    let sum = p.op1("stablehlo.add", &[&x, &y], "", "", &shape, elem);
    let twice = p.op1("stablehlo.add", &[&x, &x], "", "", &shape, elem);
    // Sharding groups must have different IDs in the small programs that are joined into one.
    let id: usize = p.fresh().bytes().map(usize::from).sum::<usize>() + 1000 * p.rng.below(100_000);
    for t in [&sum, &twice] {
        p.op(name, &[t], &format!("group_id = {id} : i64"), "", &[]);
    }
    [sum, twice].iter().for_each(|t| p.result(t));
    Some(())
}
