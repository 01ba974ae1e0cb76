//! Elementwise operations.

use super::piece::{ANY, COMPLEX, Drawer, FLOATS, INTS, NUMBERS, Piece, SIGNED, is_float};
use shardc_ir::{BinaryOp, BroadcastOp, UnaryOp};

/// The generator of an elementwise operation without attributes.
pub(super) fn drawer(name: &str) -> Option<Drawer> {
    if UnaryOp::ALL.iter().any(|op| op.name() == name) {
        return Some(unary);
    }
    if BinaryOp::ALL.iter().any(|op| op.name() == name) {
        return Some(binary);
    }
    BroadcastOp::ALL.iter().any(|op| op.name() == name).then_some(broadcasting as Drawer)
}

fn unary(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let short = name.rsplit('.').next()?;
    let elems: &[&str] = match short {
        "count_leading_zeros" | "popcnt" => INTS,
        "not" => &["i1", "i32", "ui8", "i64"],
        "abs" => &["f32", "i32", "complex<f32>", "bf16", "i8", "f64"],
        "negate" | "sign" => &["f32", "i32", "complex<f32>", "bf16", "i8", "f16"],
        "real" | "imag" | "conj" => COMPLEX,
        "cosine" | "exponential" | "log" | "logistic" | "sine" | "sqrt" | "rsqrt" | "tanh" => {
            &["f32", "f64", "bf16", "f16", "complex<f32>"]
        }
        "digamma" | "lgamma" | "erf" | "erfc" | "erf_inv" | "bessel_i1e" => &["f32", "f64", "f32", "bf16"],
        _ => FLOATS,
    };
    let elem = p.rng.of(elems);
    p.note(elem);
    let fill = match short {
        "acosh" | "log" | "log2" | "rsqrt" | "sqrt" | "digamma" | "lgamma" | "cbrt" => "positive",
        // Small operands keep away from the poles of these functions.
        "tan" | "asin" | "acos" | "atanh" | "erf_inv" | "log_plus_one" => "small",
        _ => "wide",
    };
    let shape = p.shape();
    let x = p.argument(&shape, elem, fill);
    let out = match (short, elem) {
        ("is_finite" | "is_inf" | "is_neg_inf" | "is_pos_inf", _) => "i1",
        ("abs" | "real" | "imag", "complex<f32>") => "f32",
        ("real" | "imag", "complex<f64>") => "f64",
        _ => elem,
    };
    let y = p.op1(name, &[&x], "", "", &shape, out);
    p.result(&y);
    Some(())
}

/// Returns the operand type, the fill of each operand, and the result type of a binary operation.
fn pair(p: &mut Piece<'_>, short: &str) -> (&'static str, &'static str, &'static str, &'static str) {
    let elems: &[&str] = match short {
        "and" | "or" | "xor" => &["i1", "i32", "ui8", "i64", "i8"],
        "shift_left" | "shift_right_arithmetic" | "shift_right_logical" => INTS,
        "atan2" | "next_after" | "complex" => &["f32", "f64"],
        "polygamma" | "zeta" => &["f32", "f64"],
        "mulhi" => &["i32", "ui32"],
        "remainder" => &["f32", "i32", "f64", "ui8", "i8"],
        "maximum" | "minimum" => &["f32", "i32", "bf16", "i8", "i1", "ui32"],
        "power" => &["f32", "i32", "f64"],
        _ => NUMBERS,
    };
    let elem = p.rng.of(elems);
    // Avoids division by zero, and discontinuities.
    let (first, second) = match short {
        "divide" | "power" | "remainder" if !is_float(elem) => ("wide", "positive"),
        "divide" => ("wide", "positive"),
        "shift_left" | "shift_right_arithmetic" | "shift_right_logical" => ("wide", "inside 6"),
        "power" | "atan2" => ("positive", "positive"),
        // The remainder is discontinuous where the quotient is an integer.
        "remainder" => ("small", "only 1"),
        "polygamma" => ("only 1", "positive"),
        "zeta" => ("only 3", "positive"),
        _ => ("wide", "wide"),
    };
    let out = match (short, elem) {
        ("complex", "f32") => "complex<f32>",
        ("complex", _) => "complex<f64>",
        _ => elem,
    };
    (elem, first, second, out)
}

fn binary(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, first, second, out) = pair(p, name.rsplit('.').next()?);
    p.note(elem);
    let shape = p.shape();
    let (x, y) = (p.argument(&shape, elem, first), p.argument(&shape, elem, second));
    let z = p.op1(name, &[&x, &y], "", "", &shape, out);
    p.result(&z);
    Some(())
}

fn broadcasting(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, first, second, out) = pair(p, name.strip_prefix("chlo.broadcast_")?);
    let shape = p.shape();
    let (mut a, mut b) = (shape.clone(), shape.clone());
    for (d, n) in shape.iter().enumerate() {
        if *n > 0 && p.rng.one_in(4) {
            let side = if p.rng.one_in(2) { &mut a } else { &mut b };
            side[d] = 1;
        }
    }
    p.note_if(a != b, "size 1 is spread");
    let mut attributes = String::new();
    if p.chance(2, "fewer dimensions") {
        let cut = 1 + p.rng.below(b.len());
        b.drain(..cut);
        a[..cut].copy_from_slice(&shape[..cut]);
        if p.chance(2, "broadcast_dimensions") && b.len() < a.len() {
            attributes = format!("broadcast_dimensions = {}", super::piece::ints(cut..shape.len()));
        }
    }
    let (x, y) = (p.argument(&a, elem, first), p.argument(&b, elem, second));
    let z = p.op1(name, &[&x, &y], &attributes, "", &shape, out);
    p.result(&z);
    Some(())
}

const DIRECTIONS: &[&str] = &["EQ", "NE", "GE", "GT", "LE", "LT"];

pub(super) fn compare(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let elem = p.rng.of(&["f32", "i32", "i1", "ui8", "bf16", "f64", "complex<f32>"]);
    let direction = if elem.starts_with("complex") { p.rng.of(&["EQ", "NE"]) } else { p.rng.of(DIRECTIONS) };
    let kind = match elem {
        "i32" => "SIGNED",
        "i1" | "ui8" => "UNSIGNED",
        _ if is_float(elem) && p.chance(2, "TOTALORDER") => "TOTALORDER",
        _ => "FLOAT",
    };
    let mut attributes = format!("comparison_direction = #stablehlo<comparison_direction {direction}>");
    if kind == "TOTALORDER" || p.chance(2, "compare_type") {
        attributes = format!("compare_type = #stablehlo<comparison_type {kind}>, {attributes}");
    }
    let shape = p.shape();
    let (x, y) = (p.numbers(&shape, elem), p.numbers(&shape, elem));
    let z = p.op1(name, &[&x, &y], &attributes, "", &shape, "i1");
    p.result(&z);
    Some(())
}

pub(super) fn select(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(ANY), p.shape());
    let which = if p.chance(3, "scalar predicate") { Vec::new() } else { shape.clone() };
    let (c, x, y) = (p.numbers(&which, "i1"), p.numbers(&shape, elem), p.numbers(&shape, elem));
    let z = p.op1(name, &[&c, &x, &y], "", "", &shape, elem);
    p.result(&z);
    Some(())
}

pub(super) fn clamp(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(&["f32", "i32", "bf16", "i8", "f64"]), p.shape());
    let bound = |p: &mut Piece<'_>, value: i64, class: &str| match p.chance(3, class) {
        true => p.argument(&shape, elem, &format!("only {value}")),
        false => p.scalar(elem, value),
    };
    let (low, high) = (bound(p, -1, "least of each"), bound(p, 1, "most of each"));
    let x = p.numbers(&shape, elem);
    let z = p.op1(name, &[&low, &x, &high], "", "", &shape, elem);
    p.result(&z);
    Some(())
}

pub(super) fn convert(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let from = p.rng.of(ANY);
    let to = p.rng.of(ANY);
    // The conversion of a negative number to an unsigned type, or of a complex number to a real type, is unspecified.
    let is_open = to.starts_with("ui") && !from.starts_with("ui")
        || from.starts_with("complex") && !to.starts_with("complex");
    let fill = if to.starts_with("ui") { "positive" } else { "wide" };
    p.note(format!("{from} to {to}"));
    (!is_open || fill == "positive" && !from.starts_with("complex")).then_some(())?;
    let shape = p.shape();
    let x = p.argument(&shape, from, fill);
    let z = p.op1(name, &[&x], "", "", &shape, to);
    p.result(&z);
    Some(())
}

pub(super) fn bitcast(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (from, to, times): (&str, &str, i64) = p.rng.of(&[
        ("f32", "i32", 1),
        ("i32", "ui32", 1),
        ("f32", "i8", 4),
        ("i64", "i32", 2),
        ("i8", "i32", -4),
        ("ui8", "ui16", -2),
        ("bf16", "i16", 1),
        ("i16", "bf16", 1),
        ("f64", "ui32", 2),
    ]);
    p.note(if times > 1 {
        "to smaller"
    } else if times < 0 {
        "to larger"
    } else {
        "of one width"
    });
    let mut shape = p.shape();
    let mut out = shape.clone();
    if times > 1 {
        out.push(times);
    } else if times < 0 {
        shape.push(-times);
    }
    // Bits of small integers are valid numbers of any type.
    let x = p.argument(&shape, from, "positive");
    let z = p.op1(name, &[&x], "", "", &out, to);
    p.result(&z);
    Some(())
}

pub(super) fn reduce_precision(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(&["f32", "f64", "bf16"]), p.shape());
    let (exponent, mantissa) = (2 + p.rng.below(7), p.rng.below(8));
    let x = p.numbers(&shape, elem);
    let attributes = format!("exponent_bits = {exponent} : i32, mantissa_bits = {mantissa} : i32");
    let z = p.op1(name, &[&x], &attributes, "", &shape, elem);
    p.result(&z);
    Some(())
}

pub(super) fn broadcast_more(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(&["f32", "i32", "bf16"]), p.shape());
    let x = p.numbers(&shape, elem);
    let y = p.numbers(&shape, elem);
    let z = if name.ends_with("compare") {
        let cut = p.rng.below(shape.len());
        p.note_if(cut > 0, "fewer dimensions");
        let y = p.numbers(&shape[cut..], elem);
        let attributes =
            format!("comparison_direction = #chlo<comparison_direction {}>", p.rng.of(DIRECTIONS));
        p.op1(name, &[&x, &y], &attributes, "", &shape, "i1")
    } else {
        let which = if p.chance(3, "scalar predicate") { Vec::new() } else { shape.clone() };
        let c = p.numbers(&which, "i1");
        p.op1(name, &[&c, &x, &y], "", "", &shape, elem)
    };
    p.result(&z);
    Some(())
}

pub(super) fn constant_like(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(&["f32", "f64", "bf16"]), p.shape());
    let x = p.numbers(&shape, elem);
    let z = p.op1(name, &[&x], &format!("value = 1.5 : {elem}"), "", &shape, elem);
    p.result(&z);
    Some(())
}

pub(super) fn map(p: &mut Piece<'_>, name: &'static str) -> Option<()> {
    let (elem, shape) = (p.rng.of(SIGNED), p.shape());
    let op = p.rng.of(&["stablehlo.add", "stablehlo.multiply", "stablehlo.maximum", "stablehlo.subtract"]);
    let region = p.combiner(op, elem);
    let (x, y) = (p.numbers(&shape, elem), p.numbers(&shape, elem));
    let attributes = format!("dimensions = {}", super::piece::ints(0..shape.len()));
    let z = p.op1(name, &[&x, &y], &attributes, &region, &shape, elem);
    p.result(&z);
    Some(())
}
