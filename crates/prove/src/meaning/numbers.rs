//! Elements: real numbers are residues modulo a prime, integers wrap.

use shardc_ir::{CompareDirection, DTypeClass, ReductionKind, UnaryOp};

use crate::terms::Kind;

/// An element of a kind: a residue with the least magnitude, an integer, or zero or one. Infinities are the extremes of the type.
pub(super) type Element = i128;

const P: i128 = (1 << 61) - 1;

/// A pseudorandom function of words.
pub(super) fn hash(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(0x9e37_79b9_7f4a_7c15, |state, word| {
        let mut bits = (state ^ word).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits ^= bits >> 29;
        bits = bits.wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 32)
    })
}

/// The element of a kind that an integer is.
pub(super) fn element(kind: Kind, value: i128) -> Element {
    match kind {
        Kind::Bool => value & 1,
        Kind::Real | Kind::Complex => {
            let rest = value.rem_euclid(P);
            if rest > P / 2 { rest - P } else { rest }
        }
        Kind::Integer(dtype) => {
            let values = 1i128 << dtype.bits();
            let rest = value.rem_euclid(values);
            let is_negative = dtype.class() != DTypeClass::Unsigned && rest >= values / 2;
            if is_negative { rest - values } else { rest }
        }
    }
}

/// A random element; small integers are frequent.
pub(super) fn random(kind: Kind, word: u64) -> Element {
    let value = i128::from(word >> 3);
    match kind {
        Kind::Integer(_) if word.is_multiple_of(2) => element(kind, value % 16 - 3),
        _ => element(kind, value),
    }
}

fn power(base: Element, mut exponent: i128) -> Element {
    let (mut base, mut result) = (base, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = element(Kind::Real, result * base);
        }
        base = element(Kind::Real, base * base);
        exponent >>= 1;
    }
    result
}

pub(super) fn inverse(x: Element) -> Element {
    power(x, P - 2)
}

/// A real literal.
pub(super) fn real(value: f64) -> Element {
    if value.is_infinite() {
        return if value > 0.0 { Element::MAX } else { Element::MIN };
    }
    let halves = (value * 1024.0) as i128;
    element(Kind::Real, halves * inverse(1024))
}

pub(super) fn join(join: ReductionKind, kind: Kind, a: Element, b: Element) -> Element {
    match join {
        ReductionKind::Add => element(kind, a + b),
        ReductionKind::Mul => element(kind, a * b),
        ReductionKind::Max => a.max(b),
        ReductionKind::Min => a.min(b),
        ReductionKind::And => a & b,
        ReductionKind::Or => a | b,
        ReductionKind::Xor => element(kind, a ^ b),
    }
}

pub(super) fn holds(direction: CompareDirection, a: Element, b: Element) -> bool {
    match direction {
        CompareDirection::EQ => a == b,
        CompareDirection::NE => a != b,
        CompareDirection::LT => a < b,
        CompareDirection::LE => a <= b,
        CompareDirection::GT => a > b,
        CompareDirection::GE => a >= b,
    }
}

/// A conversion between kinds. A real number that is no small integer becomes a random integer.
pub(super) fn convert(from: Kind, to: Kind, x: Element) -> Element {
    match (from, to) {
        (_, Kind::Bool) => Element::from(x != 0),
        (Kind::Real, Kind::Integer(_)) if x.abs() > 1 << 50 => function("convert", to, &[x]),
        _ => element(to, x),
    }
}

/// A function about which nothing is known.
pub(super) fn function(name: &str, kind: Kind, args: &[Element]) -> Element {
    let words =
        name.bytes().map(u64::from).chain(args.iter().flat_map(|&arg| [arg as u64, (arg >> 64) as u64]));
    random(kind, hash(words))
}

pub(super) fn unary(op: UnaryOp, kind: Kind, x: Element) -> Element {
    match op {
        UnaryOp::Negate => element(kind, -x),
        UnaryOp::Not if kind == Kind::Bool => 1 - x,
        _ => function(op.name(), kind, &[x]),
    }
}
