//! Windowed operations.

use super::piece::{Piece, Tensor, ints, list, pairs, ty};

/// How a window moves along a dimension.
#[derive(Clone, Copy)]
struct Window {
    size: i64,
    stride: i64,
    low: i64,
    high: i64,
    base: i64,
    dilation: i64,
    out: i64,
}

/// Draws a window that fits a dimension of `n` elements.
fn window(p: &mut Piece<'_>, n: i64, is_dilated: bool) -> Window {
    let mut plain = Window { size: 1, stride: 1, low: 0, high: 0, base: 1, dilation: 1, out: n };
    if p.rng.one_in(3) {
        return plain;
    }
    for _ in 0..8 {
        let mut w = Window {
            size: p.rng.of(&[1, 2, 3, 2, 4, 5]),
            stride: p.rng.of(&[1, 1, 2, 3, 4]),
            low: p.rng.of(&[0, 0, 1, 2, 3, -1, -2]),
            high: p.rng.of(&[0, 0, 1, 2, 4, -1, -3]),
            base: if is_dilated { p.rng.of(&[1, 1, 2, 3]) } else { 1 },
            dilation: if is_dilated { p.rng.of(&[1, 1, 2, 3]) } else { 1 },
            out: 0,
        };
        // XLA's simplifier replaces a window of size one by its element. The simplifier ignores negative padding, and crashes.
        if w.size == 1 && (w.low < 0 || w.high < 0) {
            continue;
        }
        let room =
            (n - 1).max(0) * w.base + i64::from(n > 0) + w.low + w.high - ((w.size - 1) * w.dilation + 1);
        if room >= 0 && n > 0 {
            w.out = room / w.stride + 1;
            p.note_if(w.stride > 1, "stride");
            p.note_if(w.low > 0 || w.high > 0, "padding");
            p.note_if(w.low < 0 || w.high < 0, "negative padding");
            p.note_if(w.base > 1, "base dilation");
            p.note_if(w.dilation > 1, "window dilation");
            return w;
        }
    }
    plain.out = n;
    plain
}

fn each<T: ToString>(windows: &[Window], of: impl Fn(&Window) -> T) -> String {
    ints(windows.iter().map(of))
}

pub(super) fn reduce_window(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let shape = p.shape();
    let windows: Vec<Window> = if p.chance(6, "runs") {
        let (at, back) = (p.rng.below(shape.len()), p.rng.one_in(2));
        shape
            .iter()
            .enumerate()
            .map(|(d, &n)| match d == at && n > 0 {
                true => {
                    let (low, high) = if back { (0, n - 1) } else { (n - 1, 0) };
                    Window { size: n, stride: 1, low, high, base: 1, dilation: 1, out: n }
                }
                false => Window { size: 1, stride: 1, low: 0, high: 0, base: 1, dilation: 1, out: n },
            })
            .collect()
    } else {
        shape.iter().map(|&n| window(p, n, true)).collect()
    };
    let out: Vec<i64> = windows.iter().map(|w| w.out).collect();
    (out.iter().product::<i64>() < 6000).then_some(())?;
    let attributes = format!(
        "base_dilations = {}, padding = {}, window_dilations = {}, window_dimensions = {}, window_strides = {}",
        each(&windows, |w| w.base),
        pairs(&windows.iter().map(|w| (w.low, w.high)).collect::<Vec<_>>()),
        each(&windows, |w| w.dilation),
        each(&windows, |w| w.size),
        each(&windows, |w| w.stride)
    );
    if p.chance(6, "several operands") {
        let (x, y) = (p.numbers(&shape, "i32"), p.numbers(&shape, "f32"));
        let (a, b) = (p.scalar("i32", 0), p.scalar("f32", -3));
        let k = p.fresh();
        let (i, f) = (ty(&[], "i32"), ty(&[], "f32"));
        let region = format!(
            "{{ ^bb0(%{k}a: {i}, %{k}b: {f}, %{k}c: {i}, %{k}d: {f}): %{k}e = \"stablehlo.add\"(%{k}a, %{k}c) : ({i}, {i}) -> {i} %{k}f = \"stablehlo.maximum\"(%{k}b, %{k}d) : ({f}, {f}) -> {f} \"stablehlo.return\"(%{k}e, %{k}f) : ({i}, {f}) -> () }}"
        );
        let all = p.op(name, &[&x, &y, &a, &b], &attributes, &region, &[(&out, "i32"), (&out, "f32")]);
        all.iter().for_each(|t| p.result(t));
        return Some(());
    }
    let elem = p.rng.of(&["f32", "i32", "f32", "bf16", "i8", "ui32", "f64"]);
    let (op, start) = p.reducer(elem);
    // A product of many numbers overflows small types.
    let region = p.combiner(op, elem);
    let x = p.numbers(&shape, elem);
    let z = p.op1(name, &[&x, &start], &attributes, &region, &out, elem);
    p.result(&z);
    Some(())
}

pub(super) fn select_and_scatter(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(&["f32", "f32", "f64"]);
    let shape = p.shape();
    (!shape.contains(&0)).then_some(())?;
    let mut windows: Vec<Window> = shape.iter().map(|&n| window(p, n, false)).collect();
    for (w, &n) in windows.iter_mut().zip(&shape) {
        // Each window must contain an element: if it contains only padding, the selected element is unspecified.
        if w.low < 0 || w.high < 0 || w.low >= w.size || w.high >= w.size || n < w.size {
            *w = Window { size: 1, stride: 1, low: 0, high: 0, base: 1, dilation: 1, out: n };
        }
    }
    let out: Vec<i64> = windows.iter().map(|w| w.out).collect();
    let x = p.numbers(&shape, elem);
    let s = p.numbers(&out, elem);
    let start = p.scalar(elem, 0);
    let direction = p.rng.of(&["GE", "LE", "GT", "LT"]);
    p.note(direction);
    let select = p.comparison(direction, elem);
    let scatter = p.combiner("stablehlo.add", elem);
    let attributes = format!(
        "padding = {}, window_dimensions = {}, window_strides = {}",
        pairs(&windows.iter().map(|w| (w.low, w.high)).collect::<Vec<_>>()),
        each(&windows, |w| w.size),
        each(&windows, |w| w.stride)
    );
    let z = p.op1(name, &[&x, &s, &start], &attributes, &format!("{select}, {scatter}"), &shape, elem);
    p.result(&z);
    Some(())
}

/// Returns the names of dimensions in a random order, and their sizes in this order.
fn ordered(p: &mut Piece<'_>, names: &[(String, i64)]) -> (String, Vec<i64>) {
    let mut all = names.to_vec();
    if p.rng.one_in(2) {
        p.rng.shuffle(&mut all);
    }
    (list(all.iter().map(|(name, _)| name)), all.iter().map(|(_, n)| *n).collect())
}

pub(super) fn convolution(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(&["f32", "f32", "f32", "f64", "bf16", "i32"]);
    let rank = p.rng.of(&[1, 1, 2, 2, 0, 3]);
    p.note(format!("{rank} dimensions"));
    let (mut features, mut groups, mut batches) = (1, 1, 1);
    match p.rng.below(4) {
        0 => {
            groups = p.rng.of(&[2, 3, 4, 8]);
            p.note("feature groups");
        }
        1 => {
            batches = p.rng.of(&[2, 3, 4, 8]);
            p.note("batch groups");
        }
        _ => features = p.rng.of(&[1, 2, 3, 4, 6, 8]),
    }
    if p.chance(3, "several features in a group") {
        features = p.rng.of(&[2, 3]);
    }
    let outs = groups * batches * p.rng.of(&[1, 1, 2, 3]);
    let batch = batches * p.rng.of(&[1, 2, 3, 4, 8]);
    let spatial: Vec<i64> = (0..rank).map(|_| p.rng.of(&[4, 8, 5, 6, 7, 3, 10, 1])).collect();
    let windows: Vec<Window> = spatial.iter().map(|&n| window(p, n, true)).collect();
    let reversal: Vec<bool> = (0..rank).map(|_| p.rng.one_in(4)).collect();
    p.note_if(reversal.contains(&true), "reversal");
    let dims = |first: (&str, i64), last: (&str, i64), sizes: Vec<i64>| -> Vec<(String, i64)> {
        let spatial = sizes.into_iter().enumerate().map(|(d, n)| (d.to_string(), n));
        std::iter::once((first.0.to_owned(), first.1))
            .chain(spatial)
            .chain([(last.0.to_owned(), last.1)])
            .collect()
    };
    let input = dims(("b", batch), ("f", features * groups), spatial);
    let kernel = dims(("i", features), ("o", outs), windows.iter().map(|w| w.size).collect());
    let output = dims(("b", batch / batches), ("f", outs), windows.iter().map(|w| w.out).collect());
    let (input, x_shape) = ordered(p, &input);
    let (kernel, k_shape) = ordered(p, &kernel);
    let (output, out) = ordered(p, &output);
    let work = out.iter().product::<i64>() * features * windows.iter().map(|w| w.size).product::<i64>();
    (x_shape.iter().product::<i64>() < 6000 && out.iter().product::<i64>() < 6000 && work < 200_000)
        .then_some(())?;
    let (x, k) = (p.numbers(&x_shape, elem), p.numbers(&k_shape, elem));
    let reversal =
        if reversal.is_empty() { "array<i1>".to_owned() } else { format!("array<i1: {}>", list(&reversal)) };
    let padding: Vec<(i64, i64)> = windows.iter().map(|w| (w.low, w.high)).collect();
    let is_dynamic = name == "stablehlo.dynamic_conv";
    let pads = if is_dynamic { String::new() } else { format!("padding = {}, ", pairs(&padding)) };
    let attributes = format!(
        "batch_group_count = {batches} : i64, dimension_numbers = #stablehlo.conv<[{input}]x[{kernel}]->[{output}]>, feature_group_count = {groups} : i64, lhs_dilation = {}, {pads}rhs_dilation = {}, window_reversal = {reversal}, window_strides = {}",
        each(&windows, |w| w.base),
        each(&windows, |w| w.dilation),
        each(&windows, |w| w.stride)
    );
    let z = if is_dynamic {
        (rank > 0).then_some(())?;
        let rows = list(padding.iter().map(|(a, b)| format!("[{a}, {b}]")));
        let pads: Tensor = p.constant(&[rank as i64, 2], "i64", &format!("[{rows}]"));
        p.op1(name, &[&x, &k, &pads], &attributes, "", &out, elem)
    } else {
        p.op1(name, &[&x, &k], &attributes, "", &out, elem)
    };
    p.result(&z);
    Some(())
}
