//! Views as text for reports.

use std::fmt::Write as _;

use shardc_ir::{Module, OpId};

use crate::terms::{ARBITRARY, DEVICE, Digit, Op, TermId, Terms, View};

/// Digits as text.
pub(crate) fn digits(digits: &[Digit]) -> String {
    let slot = |slot: u32| if slot == DEVICE { "device".to_owned() } else { format!("position {slot}") };
    let one = |digit: &Digit| match digit {
        Digit { slot: own, stride: 1, size } => format!("{} % {size}", slot(*own)),
        Digit { slot: own, stride, size } => format!("{} / {stride} % {size}", slot(*own)),
    };
    digits.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// The name of the operation of a term.
fn name(terms: &Terms, term: TermId) -> String {
    match &terms.node(term).op {
        Op::Param(at) => format!("argument {at}"),
        Op::Unknown(ARBITRARY) => "padding".to_owned(),
        Op::Unknown(_) => "an unknown value".to_owned(),
        Op::State(_) => "a carried value".to_owned(),
        Op::Loop(_) => "a loop".to_owned(),
        Op::Literal(_) | Op::Constant(_) => "a constant".to_owned(),
        Op::Affine { .. } => "an affine function of the position".to_owned(),
        Op::Join(join) => format!("{join:?}").to_lowercase(),
        Op::Map(map) => format!("{map:?}").to_lowercase(),
        Op::Reduce(join) => {
            let node = terms.node(term);
            let sizes: Vec<String> = node
                .vars
                .iter()
                .filter(|var| var.role == crate::terms::VarRole::Reduced)
                .map(|var| var.size.to_string())
                .collect();
            format!("{join:?} over {}", sizes.join("x")).to_lowercase()
        }
        Op::Fold(..) => "reduction by a region".to_owned(),
        Op::Slice(_) => "slice".to_owned(),
        Op::Concat(_) => "concatenate".to_owned(),
        Op::Update(_) => "update".to_owned(),
        Op::Windows(_) => "windows".to_owned(),
        Op::Core(text) => {
            text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_lowercase()
        }
    }
}

/// The term and the blocks of a view.
pub(crate) fn view(terms: &Terms, view: &View, original: &Module, origins: &[Option<OpId>]) -> String {
    let mut text = name(terms, view.term);
    if let Some(op) = origins.get(view.term.0 as usize).copied().flatten() {
        let _ = write!(text, " ({} of the original", original.ops[op].kind.name());
        if let Some(location) = original.user_loc(op) {
            let _ = write!(text, " at {location}");
        }
        text.push(')');
    }
    let dims = &terms.node(view.term).dims;
    let _ = write!(text, " of shape {dims:?}");
    let blocks: Vec<String> = view
        .index
        .iter()
        .enumerate()
        .filter_map(|(dim, number)| {
            // A replicated dimension is one local dimension; in any other order, all digits are printed.
            let is_plain = matches!(number.as_slice(), [only] if only.slot != DEVICE && only.stride == 1);
            let own: Vec<Digit> = number.iter().copied().take_while(|digit| digit.slot == DEVICE).collect();
            let rest = number.get(own.len()..).unwrap_or_default();
            match rest {
                _ if is_plain => None,
                [] | [Digit { stride: 1, .. }] if !own.is_empty() => {
                    Some(format!("dimension {dim} by {}", digits(&own)))
                }
                _ => Some(format!("dimension {dim} by {}", digits(number))),
            }
        })
        .collect();
    match blocks.is_empty() {
        true => text.push_str(", replicated"),
        false => {
            let _ = write!(text, ", {}", blocks.join("; "));
        }
    }
    text
}

/// The first difference between two terms, as text that follows a description; empty if it is at the top.
pub(crate) fn difference(
    terms: &Terms,
    mut wanted: TermId,
    mut found: TermId,
    original: &Module,
    origins: &[Option<OpId>],
) -> String {
    let mut depth = 0;
    loop {
        let (a, b) = (terms.node(wanted), terms.node(found));
        let is_same = a.op == b.op && a.args.len() == b.args.len() && a.vars == b.vars;
        let pairs = || a.args.iter().zip(&b.args).filter(|(x, y)| x.term != y.term);
        match pairs().next() {
            Some((x, y)) if is_same && depth < 10_000 => (wanted, found) = (x.term, y.term),
            _ => break,
        }
        depth += 1;
    }
    if depth == 0 {
        return String::new();
    }
    let origin = origins.get(wanted.0 as usize).copied().flatten().map(|op| original.ops[op].kind.name());
    let (a, b) = (terms.node(wanted), terms.node(found));
    format!(
        "; it first differs in an operand: {} of shape {:?} instead of {}{} of shape {:?}",
        name(terms, found),
        b.dims,
        origin.map(|origin| format!("{origin}, ")).unwrap_or_default(),
        name(terms, wanted),
        a.dims
    )
}
