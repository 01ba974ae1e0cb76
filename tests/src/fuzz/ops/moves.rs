//! Operations that create values without operands, and operations that move elements.

use super::piece::{ANY, NUMBERS, Piece, Tensor, ints, list, number};

/// Numbers as a constant list of an index type; rarely as an argument, so that their values are unknown at compile time.
fn index_list(p: &mut Piece<'_>, numbers: &[i64]) -> Tensor {
    let elem = p.rng.of(&["i64", "i32"]);
    let text = if numbers.is_empty() { String::new() } else { format!("[{}]", list(numbers)) };
    p.constant(&[numbers.len() as i64], elem, &text)
}

pub(super) fn from_nothing(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(NUMBERS), p.shape());
    let z = if name == "stablehlo.constant" {
        let elem = p.rng.of(ANY);
        let count: i64 = shape.iter().product();
        let text = match shape.len() == 1 && count > 0 && elem == "i32" && p.chance(2, "different elements") {
            true => format!("[{}]", list(0..count)),
            false => number(elem, 1),
        };
        let x = p.constant(&shape, elem, &text);
        // The barrier gives the program an operation to partition.
        p.op1("stablehlo.optimization_barrier", &[&x], "", "", &shape, elem)
    } else {
        let dim = p.rng.below(shape.len());
        let attributes = format!("iota_dimension = {dim} : i64");
        match name {
            "stablehlo.iota" => p.op1(name, &[], &attributes, "", &shape, elem),
            _ => {
                let sizes = index_list(p, &shape);
                p.op1(name, &[&sizes], &attributes, "", &shape, elem)
            }
        }
    };
    p.result(&z);
    Some(())
}

pub(super) fn rng_bits(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    // The width is always 32 bits, because XLA's CPU plugin fails for other widths in partition mode.
    let (elem, shape) = ("ui32", p.shape());
    let algorithm = p.rng.of(&["THREE_FRY", "PHILOX"]);
    p.note(algorithm);
    let words = if algorithm == "PHILOX" { p.rng.of(&[2, 3]) } else { 2 };
    let state = p.argument(&[words], "ui64", "positive");
    let attributes = format!("rng_algorithm = #stablehlo<rng_algorithm {algorithm}>");
    let all = p.op(name, &[&state], &attributes, "", &[(&[words], "ui64"), (&shape, elem)]);
    all.iter().for_each(|t| p.result(t));
    Some(())
}

pub(super) fn dimension_size(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(ANY), p.shape());
    let x = p.numbers(&shape, elem);
    let dim = p.rng.below(shape.len());
    let z = p.op1(name, &[&x], &format!("dimension = {dim} : i64"), "", &[], "i32");
    p.result(&z);
    Some(())
}

pub(super) fn broadcast_in_dim(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, out) = (p.rng.of(ANY), p.shape());
    let mut dims: Vec<usize> = (0..out.len()).filter(|_| !p.rng.one_in(3)).collect();
    if p.chance(3, "dimensions in another order") {
        p.rng.shuffle(&mut dims);
    }
    let mut shape: Vec<i64> = dims.iter().map(|&d| out[d]).collect();
    for n in &mut shape {
        if p.rng.one_in(4) {
            p.note("size 1 is spread");
            *n = 1;
        }
    }
    let x = p.numbers(&shape, elem);
    let attributes = format!("broadcast_dimensions = {}", ints(&dims));
    let z = match name {
        "stablehlo.broadcast_in_dim" => p.op1(name, &[&x], &attributes, "", &out, elem),
        _ => {
            let sizes = index_list(p, &out);
            p.op1(name, &[&x, &sizes], &attributes, "", &out, elem)
        }
    };
    p.result(&z);
    Some(())
}

pub(super) fn broadcast(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, out) = (p.rng.of(ANY), p.shape());
    let cut = p.rng.below(out.len() + 1);
    let x = p.numbers(&out[cut..], elem);
    let z = p.op1(name, &[&x], &format!("broadcast_sizes = {}", ints(&out[..cut])), "", &out, elem);
    p.result(&z);
    Some(())
}

/// Factors of `count` as sizes.
fn factored(p: &mut Piece<'_>, count: i64) -> Vec<i64> {
    let mut left = count;
    let mut shape = Vec::new();
    for _ in 0..p.rng.below(4) {
        let divisors: Vec<i64> = (1..=left.min(64)).filter(|d| left % d == 0).collect();
        let n = p.rng.of(&divisors);
        shape.push(n);
        left /= n;
    }
    shape.push(left);
    if p.rng.one_in(2) {
        shape.reverse();
    }
    shape
}

pub(super) fn reshape(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, mut shape) = (p.rng.of(ANY), p.shape());
    let out = match p.rng.below(4) {
        // Splits one dimension, or merges several dimensions.
        0 => {
            let at = p.rng.below(shape.len());
            (shape[at] > 0).then_some(())?;
            let several = factored(p, shape[at]);
            let mut out = shape.clone();
            out.splice(at..=at, several);
            p.note("splits");
            out
        }
        1 => {
            let at = p.rng.below(shape.len());
            (shape[at] > 0).then_some(())?;
            let several = factored(p, shape[at]);
            let out = shape.clone();
            shape.splice(at..=at, several);
            p.note("merges");
            out
        }
        2 => {
            let mut out = shape.clone();
            out.insert(p.rng.below(shape.len() + 1), 1);
            p.note("size 1");
            out
        }
        _ => {
            let count = shape.iter().product::<i64>();
            (count > 0).then_some(())?;
            p.note("any");
            factored(p, count)
        }
    };
    let x = p.numbers(&shape, elem);
    let z = match name {
        "stablehlo.reshape" => p.op1(name, &[&x], "", "", &out, elem),
        _ => {
            let sizes = index_list(p, &out);
            p.op1(name, &[&x, &sizes], "", "", &out, elem)
        }
    };
    p.result(&z);
    Some(())
}

pub(super) fn transpose(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(ANY), p.shape());
    let mut order: Vec<usize> = (0..shape.len()).collect();
    p.rng.shuffle(&mut order);
    let out: Vec<i64> = order.iter().map(|&d| shape[d]).collect();
    let x = p.numbers(&shape, elem);
    let z = p.op1(name, &[&x], &format!("permutation = {}", ints(&order)), "", &out, elem);
    p.result(&z);
    Some(())
}

pub(super) fn reverse(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(ANY), p.shape());
    let dims: Vec<usize> = (0..shape.len()).filter(|_| p.rng.one_in(2)).collect();
    p.note(format!("{} dimensions", dims.len()));
    let x = p.numbers(&shape, elem);
    let z = p.op1(name, &[&x], &format!("dimensions = {}", ints(&dims)), "", &shape, elem);
    p.result(&z);
    Some(())
}

pub(super) fn slice(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(ANY), p.shape());
    let (mut starts, mut limits, mut strides, mut out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for &n in &shape {
        let (start, limit, stride) = match p.rng.below(3) {
            0 => (0, n, 1),
            _ => {
                let start = p.rng.below(n as usize + 1) as i64;
                let limit = start + p.rng.below((n - start) as usize + 1) as i64;
                (start, limit, p.rng.of(&[1, 1, 2, 3, 5]))
            }
        };
        p.note_if(stride > 1, "strides");
        p.note_if(limit == start, "nothing");
        p.note_if(limit == start + 1, "one row");
        starts.push(start);
        limits.push(limit);
        strides.push(stride);
        out.push((limit - start + stride - 1) / stride);
    }
    let x = p.numbers(&shape, elem);
    let z = if name == "stablehlo.slice" {
        let attributes = format!(
            "limit_indices = {}, start_indices = {}, strides = {}",
            ints(&limits),
            ints(&starts),
            ints(&strides)
        );
        p.op1(name, &[&x], &attributes, "", &out, elem)
    } else {
        let text = |numbers: &[i64]| format!("[{}]", list(numbers));
        let rank = [shape.len() as i64];
        let start = match p.chance(3, "starts known at run time") {
            true => p.argument(&rank, "i64", "only 0"),
            false => p.constant(&rank, "i64", &text(&starts)),
        };
        // If the starts are an argument, all starts are zero, so the limits are reduced by the drawn starts.
        let limit = match start.name.ends_with("#0") {
            true => p.constant(&rank, "i64", &text(&limits)),
            false => {
                let ends: Vec<i64> = limits.iter().zip(&starts).map(|(l, s)| l - s).collect();
                p.constant(&rank, "i64", &text(&ends))
            }
        };
        let stride = p.constant(&rank, "i64", &text(&strides));
        p.op1(name, &[&x, &start, &limit, &stride], "", "", &out, elem)
    };
    p.result(&z);
    Some(())
}

/// Emits scalar start indices of a slice: arguments and constants, in and out of bounds.
fn places(p: &mut Piece<'_>, shape: &[i64], sizes: &[i64]) -> Vec<Tensor> {
    let elem = p.rng.of(&["i32", "i64", "ui32", "i8"]);
    let all = shape.iter().zip(sizes);
    all.map(|(&n, &size)| {
        let inside = p.rng.below((n - size).max(0) as usize + 1) as i64;
        let value = match p.rng.below(6) {
            0 => {
                p.note("out of bounds");
                if elem.starts_with("ui") { n + 1 } else { p.rng.of(&[-2, n, n - size + 1]) }
            }
            1 => 0,
            _ => inside,
        };
        match p.rng.one_in(2) {
            true => p.argument(&[], elem, &format!("only {value}")),
            false => p.constant(&[], elem, &value.to_string()),
        }
    })
    .collect()
}

fn part_of(p: &mut Piece<'_>, shape: &[i64]) -> Vec<i64> {
    shape
        .iter()
        .map(|&n| if p.rng.one_in(3) { n } else { p.rng.below(n as usize) as i64 + i64::from(n > 0) })
        .collect()
}

pub(super) fn dynamic_slice(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(ANY), p.shape());
    let sizes = part_of(p, &shape);
    let x = p.numbers(&shape, elem);
    let at = places(p, &shape, &sizes);
    let operands: Vec<&Tensor> = std::iter::once(&x).chain(&at).collect();
    let z = p.op1(name, &operands, &format!("slice_sizes = {}", ints(&sizes)), "", &sizes, elem);
    p.result(&z);
    Some(())
}

pub(super) fn dynamic_update_slice(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(ANY), p.shape());
    let sizes = part_of(p, &shape);
    let (x, u) = (p.numbers(&shape, elem), p.numbers(&sizes, elem));
    let at = places(p, &shape, &sizes);
    let operands: Vec<&Tensor> = [&x, &u].into_iter().chain(&at).collect();
    let z = p.op1(name, &operands, "", "", &shape, elem);
    p.result(&z);
    Some(())
}

pub(super) fn concatenate(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(ANY), p.shape());
    let dim = p.rng.below(shape.len());
    let count = p.rng.of(&[1, 2, 2, 3, 4, 7]);
    p.note(format!("{count} operands"));
    let mut out = shape.clone();
    out[dim] = 0;
    let parts: Vec<Tensor> = (0..count)
        .map(|_| {
            let mut part = shape.clone();
            part[dim] = if p.rng.one_in(2) { shape[dim] } else { p.size() };
            out[dim] += part[dim];
            p.numbers(&part, elem)
        })
        .collect();
    let z =
        p.op1(name, &parts.iter().collect::<Vec<_>>(), &format!("dimension = {dim} : i64"), "", &out, elem);
    p.result(&z);
    Some(())
}

pub(super) fn pad(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(ANY), p.shape());
    let (mut lows, mut highs, mut inner, mut out) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for &n in &shape {
        let (low, high, interior) = match p.rng.below(3) {
            0 => (0, 0, 0),
            _ => (
                p.rng.of(&[0, 1, 2, 5, -1, -2, -4]),
                p.rng.of(&[0, 1, 3, 7, -1, -3]),
                p.rng.of(&[0, 0, 1, 2]),
            ),
        };
        let size = n + (n - 1).max(0) * interior + low + high;
        let (low, high, size) =
            if size < 0 { (0, 0, n + (n - 1).max(0) * interior) } else { (low, high, size) };
        p.note_if(low < 0 || high < 0, "negative");
        p.note_if(low > 0, "low");
        p.note_if(high > 0, "high");
        p.note_if(interior > 0, "interior");
        lows.push(low);
        highs.push(high);
        inner.push(interior);
        out.push(size);
    }
    (out.iter().product::<i64>() < 20_000).then_some(())?;
    let x = p.numbers(&shape, elem);
    let value = p.scalar(elem, 3);
    let z = if name == "stablehlo.pad" {
        let attributes = format!(
            "edge_padding_high = {}, edge_padding_low = {}, interior_padding = {}",
            ints(&highs),
            ints(&lows),
            ints(&inner)
        );
        p.op1(name, &[&x, &value], &attributes, "", &out, elem)
    } else {
        let text = |numbers: &[i64]| format!("[{}]", list(numbers));
        let rank = [shape.len() as i64];
        let all = [&lows, &highs, &inner].map(|numbers| p.constant(&rank, "i64", &text(numbers)));
        p.op1(name, &[&x, &value, &all[0], &all[1], &all[2]], "", "", &out, elem)
    };
    p.result(&z);
    Some(())
}

/// Index types.
pub(super) const INDICES: &[&str] = &["i32", "i64", "ui32", "i32"];
