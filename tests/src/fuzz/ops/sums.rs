//! Reductions, matmuls and other operations that combine elements along a dimension.

use super::piece::{FLOATS, NUMBERS, Piece, Tensor, ints, list, ty};

pub(super) fn dot_general(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(&["f32", "f32", "bf16", "i32", "f64", "complex<f32>", "i8"]);
    let out_elem = match elem {
        "bf16" if p.chance(2, "wider result") => "f32",
        "i8" if p.chance(2, "wider result") => "i32",
        _ => elem,
    };
    let counts = [
        p.rng.of(&[0, 0, 1, 2]),
        p.rng.of(&[0, 1, 1, 1, 2]),
        p.rng.of(&[0, 1, 1, 2]),
        p.rng.of(&[0, 1, 1, 2]),
    ];
    p.note(format!("{} batch {} contracted", counts[0], counts[1]));
    let mut sizes: Vec<Vec<i64>> = counts.iter().map(|&n| p.shape_of(n)).collect();
    for n in sizes.iter_mut().flatten() {
        *n = (*n).min(12);
    }
    let [batch, summed, left, right] = [&sizes[0], &sizes[1], &sizes[2], &sizes[3]];
    // The kind of each dimension: 0 batch, 1 contracting, 2 free.
    let of = |free: &Vec<i64>| -> Vec<(usize, usize, i64)> {
        let kinds = [batch, summed, free];
        kinds
            .iter()
            .enumerate()
            .flat_map(|(k, all)| all.iter().enumerate().map(move |(i, &n)| (k, i, n)))
            .collect()
    };
    let (mut l, mut r) = (of(left), of(right));
    p.rng.shuffle(&mut l);
    p.rng.shuffle(&mut r);
    let place = |side: &[(usize, usize, i64)], kind: usize, count: usize| -> Vec<usize> {
        (0..count).filter_map(|i| side.iter().position(|s| s.0 == kind && s.1 == i)).collect()
    };
    let shape = |side: &[(usize, usize, i64)]| -> Vec<i64> { side.iter().map(|s| s.2).collect() };
    let mut out = batch.clone();
    // Free dimensions are in the order of the operand.
    out.extend(l.iter().filter(|s| s.0 == 2).map(|s| s.2));
    out.extend(r.iter().filter(|s| s.0 == 2).map(|s| s.2));
    let (a_shape, b_shape) = (shape(&l), shape(&r));
    let elements = |s: &[i64]| s.iter().product::<i64>();
    (elements(&a_shape) < 4000 && elements(&b_shape) < 4000 && elements(&out) < 4000).then_some(())?;
    let mut attributes = format!(
        "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [{}], rhs_batching_dimensions = [{}], lhs_contracting_dimensions = [{}], rhs_contracting_dimensions = [{}]>",
        list(place(&l, 0, counts[0])),
        list(place(&r, 0, counts[0])),
        list(place(&l, 1, counts[1])),
        list(place(&r, 1, counts[1]))
    );
    if p.chance(3, "precision") {
        let word = p.rng.of(&["DEFAULT", "HIGH", "HIGHEST"]);
        attributes = format!(
            "{attributes}, precision_config = [#stablehlo<precision {word}>, #stablehlo<precision {word}>]"
        );
    }
    let (a, b) = (p.numbers(&a_shape, elem), p.numbers(&b_shape, elem));
    let z = p.op1(name, &[&a, &b], &attributes, "", &out, out_elem);
    p.result(&z);
    Some(())
}

pub(super) fn einsum(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(&["f32", "f64", "i32"]);
    let letters = ["a", "b", "c", "d"];
    let sizes: Vec<i64> = (0..4).map(|_| p.rng.of(&[4, 8, 6, 5, 3, 7])).collect();
    let some = |p: &mut Piece<'_>| -> Vec<usize> {
        let mut all: Vec<usize> = (0..4).filter(|_| p.rng.one_in(2)).collect();
        p.rng.shuffle(&mut all);
        all
    };
    let word = |dims: &[usize]| dims.iter().map(|&d| letters[d]).collect::<String>();
    let shape = |dims: &[usize]| -> Vec<i64> { dims.iter().map(|&d| sizes[d]).collect() };
    let (l, r) = (some(p), some(p));
    let mut out: Vec<usize> = l.iter().chain(&r).copied().collect();
    out.sort_unstable();
    out.dedup();
    out.retain(|_| !p.rng.one_in(3));
    p.rng.shuffle(&mut out);
    let a = p.numbers(&shape(&l), elem);
    (!l.is_empty()).then_some(())?;
    let z = if name == "stablehlo.einsum" {
        let b = p.numbers(&shape(&r), elem);
        let config = format!("einsum_config = \"{},{}->{}\"", word(&l), word(&r), word(&out));
        // XLA does not support an einsum label that only one operand has, and that the result lacks.
        let is_read = l.iter().all(|d| r.contains(d) || out.contains(d))
            && r.iter().all(|d| l.contains(d) || out.contains(d));
        is_read.then_some(())?;
        p.op1(name, &[&a, &b], &config, "", &shape(&out), elem)
    } else {
        out.retain(|d| l.contains(d));
        p.op1(
            name,
            &[&a],
            &format!("einsum_config = \"{}->{}\"", word(&l), word(&out)),
            "",
            &shape(&out),
            elem,
        )
    };
    p.result(&z);
    Some(())
}

pub(super) fn ragged_dot(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(&["f32", "f64"]);
    let (m, k, n, g) =
        (p.rng.of(&[8, 12, 9]), p.rng.of(&[4, 6, 8]), p.rng.of(&[4, 5, 8]), p.rng.of(&[1, 2, 3, 4]));
    let (a, b) = (p.numbers(&[m, k], elem), p.numbers(&[g, k, n], elem));
    let sizes = p.argument(&[g], "i32", "inside 3");
    let attributes = "ragged_dot_dimension_numbers = #chlo.ragged_dot<lhs_batching_dimensions = [], rhs_batching_dimensions = [], lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [1], lhs_ragged_dimensions = [0], rhs_group_dimensions = [0]>";
    let z = p.op1(name, &[&a, &b, &sizes], attributes, "", &[m, n], elem);
    p.result(&z);
    Some(())
}

pub(super) fn fft(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let kind = p.rng.of(&["FFT", "IFFT", "RFFT", "IRFFT"]);
    let wide = p.rng.one_in(3);
    let (real, complex) = if wide { ("f64", "complex<f64>") } else { ("f32", "complex<f32>") };
    let shape = p.shape();
    (!shape.contains(&0)).then_some(())?;
    let count = 1 + p.rng.below(shape.len().min(3));
    p.note(format!("{kind} of {count}"));
    let length = shape[shape.len() - count..].to_vec();
    let mut half = shape.clone();
    if let Some(last) = half.last_mut() {
        *last = *last / 2 + 1;
    }
    let (x, out, elem) = match kind {
        "RFFT" => (p.numbers(&shape, real), half, complex),
        "IRFFT" => (p.numbers(&half, complex), shape, real),
        _ => (p.numbers(&shape, complex), shape, complex),
    };
    let attributes = format!("fft_length = {}, fft_type = #stablehlo<fft_type {kind}>", ints(&length));
    let z = p.op1(name, &[&x], &attributes, "", &out, elem);
    p.result(&z);
    Some(())
}

/// Draws the batch sizes and the number of rows of square matrices.
fn matrices(p: &mut Piece<'_>) -> (Vec<i64>, i64) {
    let rank = p.rng.of(&[0, 1, 1, 2]);
    let batch: Vec<i64> = p.shape_of(rank).into_iter().map(|n| n.min(10)).collect();
    (batch, p.rng.of(&[1, 2, 3, 4, 6, 8]))
}

pub(super) fn cholesky(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(&["f32", "f64", "complex<f32>"]);
    let (mut shape, n) = matrices(p);
    shape.extend([n, n]);
    let lower = p.rng.one_in(2);
    p.note(if lower { "lower" } else { "upper" });
    let a = p.argument(&shape, elem, "definite");
    let z = p.op1(name, &[&a], &format!("lower = {lower}"), "", &shape, elem);
    // The elements of the triangle that the operation does not compute are unspecified, so they are masked.
    let row = p.op1(
        "stablehlo.iota",
        &[],
        &format!("iota_dimension = {} : i64", shape.len() - 2),
        "",
        &shape,
        "i32",
    );
    let column = p.op1(
        "stablehlo.iota",
        &[],
        &format!("iota_dimension = {} : i64", shape.len() - 1),
        "",
        &shape,
        "i32",
    );
    let direction = if lower { "GE" } else { "LE" };
    let attributes = format!("comparison_direction = #stablehlo<comparison_direction {direction}>");
    let keep = p.op1("stablehlo.compare", &[&row, &column], &attributes, "", &shape, "i1");
    let zero = p.constant(&shape, elem, if elem.starts_with('c') { "(0.0, 0.0)" } else { "0.0" });
    let z = p.op1("stablehlo.select", &[&keep, &z, &zero], "", "", &shape, elem);
    p.result(&z);
    Some(())
}

pub(super) fn triangular_solve(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(&["f32", "f64", "complex<f32>"]);
    let (batch, n) = matrices(p);
    let m = p.rng.of(&[1, 2, 5, 8, 12]);
    let (left, lower, unit) = (p.rng.one_in(2), p.rng.one_in(2), p.chance(3, "unit diagonal"));
    let transpose = p.rng.of(&["NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"]);
    p.note(transpose);
    p.note(if left { "left" } else { "right" });
    let (mut a, mut b) = (batch.clone(), batch);
    a.extend([n, n]);
    b.extend(if left { [n, m] } else { [m, n] });
    let (x, y) = (p.argument(&a, elem, "definite"), p.numbers(&b, elem));
    let attributes = format!(
        "left_side = {left}, lower = {lower}, transpose_a = #stablehlo<transpose {transpose}>, unit_diagonal = {unit}"
    );
    let z = p.op1(name, &[&x, &y], &attributes, "", &b, elem);
    p.result(&z);
    Some(())
}

pub(super) fn batch_norm(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(&["f32", "f64"]);
    let shape = p.shape();
    (!shape.contains(&0)).then_some(())?;
    let dim = p.rng.below(shape.len());
    let features = [shape[dim]];
    // The variance needs more than one element for each feature.
    (shape.iter().product::<i64>() > 2 * features[0]).then_some(())?;
    let attributes = format!("epsilon = 1.0e-01 : f32, feature_index = {dim} : i64");
    let x = p.numbers(&shape, elem);
    let vector = |p: &mut Piece<'_>| p.argument(&features, elem, "positive");
    let all = match name {
        "stablehlo.batch_norm_training" => {
            let (s, o) = (vector(p), vector(p));
            p.op(
                name,
                &[&x, &s, &o],
                &attributes,
                "",
                &[(&shape, elem), (&features, elem), (&features, elem)],
            )
        }
        "stablehlo.batch_norm_inference" => {
            let v = [vector(p), vector(p), vector(p), vector(p)];
            p.op(name, &[&x, &v[0], &v[1], &v[2], &v[3]], &attributes, "", &[(&shape, elem)])
        }
        _ => {
            let v = [vector(p), vector(p), vector(p)];
            let g = p.numbers(&shape, elem);
            let outs: [(&[i64], &'static str); 3] = [(&shape, elem), (&features, elem), (&features, elem)];
            p.op(name, &[&x, &v[0], &v[1], &v[2], &g], &attributes, "", &outs)
        }
    };
    all.iter().for_each(|t| p.result(t));
    Some(())
}

pub(super) fn reduce(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let shape = p.shape();
    let dims: Vec<usize> = (0..shape.len()).filter(|_| p.rng.one_in(2)).collect();
    let out: Vec<i64> = (0..shape.len()).filter(|d| !dims.contains(d)).map(|d| shape[d]).collect();
    p.note(format!("{} dimensions", dims.len()));
    let attributes = format!("dimensions = {}", ints(&dims));
    if p.chance(4, "largest and where") {
        // Ties select the smaller index, so the order of evaluation does not matter.
        let x = p.numbers(&shape, "i32");
        let places = p.argument(&shape, "i32", "each");
        let least = p.constant(&[], "i32", "-2147483648");
        let most = p.constant(&[], "i32", "2147483647");
        let k = p.fresh();
        let (t, b) = (ty(&[], "i32"), ty(&[], "i1"));
        let compare = |direction: &str| {
            format!("<{{comparison_direction = #stablehlo<comparison_direction {direction}>}}>")
        };
        let region = format!(
            "{{ ^bb0(%{k}a: {t}, %{k}b: {t}, %{k}c: {t}, %{k}d: {t}): \
             %{k}e = \"stablehlo.compare\"(%{k}a, %{k}c) {} : ({t}, {t}) -> {b} \
             %{k}f = \"stablehlo.compare\"(%{k}a, %{k}c) {} : ({t}, {t}) -> {b} \
             %{k}g = \"stablehlo.compare\"(%{k}b, %{k}d) {} : ({t}, {t}) -> {b} \
             %{k}h = \"stablehlo.and\"(%{k}f, %{k}g) : ({b}, {b}) -> {b} \
             %{k}i = \"stablehlo.or\"(%{k}e, %{k}h) : ({b}, {b}) -> {b} \
             %{k}j = \"stablehlo.select\"(%{k}i, %{k}a, %{k}c) : ({b}, {t}, {t}) -> {t} \
             %{k}l = \"stablehlo.select\"(%{k}i, %{k}b, %{k}d) : ({b}, {t}, {t}) -> {t} \
             \"stablehlo.return\"(%{k}j, %{k}l) : ({t}, {t}) -> () }}",
            compare("GT"),
            compare("EQ"),
            compare("LT")
        );
        let all =
            p.op(name, &[&x, &places, &least, &most], &attributes, &region, &[(&out, "i32"), (&out, "i32")]);
        all.iter().for_each(|t| p.result(t));
        return Some(());
    }
    let elem = p.rng.of(&["f32", "i32", "f32", "bf16", "i8", "ui32", "f64", "i1", "complex<f32>"]);
    let (op, start) = p.reducer(elem);
    let region = p.combiner(op, elem);
    let x = p.numbers(&shape, elem);
    let z = p.op1(name, &[&x, &start], &attributes, &region, &out, elem);
    p.result(&z);
    Some(())
}

pub(super) fn sort(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let shape = p.shape();
    let dim = p.rng.below(shape.len());
    let count = p.rng.of(&[1, 2, 3]);
    p.note(format!("{count} operands"));
    // Integer keys have ties, whose order only a stable sort defines.
    let key = p.rng.of(&["f32", "i32", "f64", "bf16"]);
    let stable = count > 1 && key != "f64" || p.chance(3, "stable");
    p.note_if(stable, "stable");
    let written =
        if p.chance(4, "dimension from the end") { dim as i64 - shape.len() as i64 } else { dim as i64 };
    let mut all: Vec<Tensor> = vec![p.numbers(&shape, key)];
    for _ in 1..count {
        let elem = p.rng.of(&["i32", "f32", "i8"]);
        all.push(p.numbers(&shape, elem));
    }
    let direction = p.rng.of(&["LT", "GT"]);
    let k = p.fresh();
    let list_of = list(all.iter().enumerate().flat_map(|(i, t)| {
        let t = ty(&[], t.elem);
        [format!("%{k}l{i}: {t}"), format!("%{k}r{i}: {t}")]
    }));
    let t = ty(&[], key);
    let region = format!(
        "{{ ^bb0({list_of}): %{k}c = \"stablehlo.compare\"(%{k}l0, %{k}r0) <{{comparison_direction = #stablehlo<comparison_direction {direction}>}}> : ({t}, {t}) -> tensor<i1> \"stablehlo.return\"(%{k}c) : (tensor<i1>) -> () }}"
    );
    let outs: Vec<(&[i64], &'static str)> = all.iter().map(|x| (&x.shape[..], x.elem)).collect();
    let attributes = format!("dimension = {written} : i64, is_stable = {stable}");
    let done = p.op(name, &all.iter().collect::<Vec<_>>(), &attributes, &region, &outs);
    done.iter().for_each(|t| p.result(t));
    Some(())
}

pub(super) fn top_k(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(&["f32", "i32", "bf16"]);
    let shape = p.shape();
    let last = *shape.last()?;
    let k = p.rng.below(last as usize + 1) as i64;
    let mut out = shape.clone();
    *out.last_mut()? = k;
    let x = p.numbers(&shape, elem);
    let all = p.op(name, &[&x], &format!("k = {k} : i64"), "", &[(&out, elem), (&out, "i32")]);
    // Equal elements are frequent in `bf16`. If two elements are equal, `top_k` returns the element with the smaller index first.
    all.iter().for_each(|t| p.result(t));
    Some(())
}

/// Types of numbers that can be multiplied and added.
pub(super) fn number_type(p: &mut Piece<'_>) -> &'static str {
    if p.rng.one_in(4) { p.rng.of(FLOATS) } else { p.rng.of(NUMBERS) }
}
