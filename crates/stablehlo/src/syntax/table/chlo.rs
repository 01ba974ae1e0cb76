//! Pretty forms of operations of the chlo dialect.

use super::Piece::{A, Arrow, Dict, L, One, Unless};
use super::{FUNCTIONAL, Own, Pretty, pieces};

/// The pretty forms of operations that are not elementwise.
pub(super) const PRETTY: &[(&str, Pretty)] = &[
    (
        "chlo.top_k",
        pieces(&[
            L("("),
            One,
            L(", k = "),
            A("k"),
            Unless(true, ", is_stable = ", "is_stable"),
            L(")"),
            Dict,
            L(" : "),
            Arrow,
        ]),
    ),
    ("chlo.scan", Pretty::Own(Own::Scan)),
    ("chlo.broadcast_compare", pieces(FUNCTIONAL)),
    ("chlo.broadcast_select", pieces(FUNCTIONAL)),
];
