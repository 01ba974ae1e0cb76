//! Operations that are parsed as different operations.

use shardc_ir::AttrDef;
use shardc_ir::AttrType::{Dense, Precisions};

use super::Piece::{Dict, Functional, L, One, Opt};
use super::{ARROW, Own, Pretty, SAME_1, SAME_2, Spec, may, need, pieces};

const VALUE: &[AttrDef] = &[need("value", Dense)];

/// Constants of other dialects; `stablehlo.dot`, parsed as `stablehlo.dot_general`; `chlo.tan`, parsed as `stablehlo.tan`; and operations
/// of `mhlo` that XLA's converter from HLO emits, parsed as operations of `chlo`.
pub(super) const SPECS: &[Spec] = &[
    ("arith.constant", VALUE, Pretty::Own(Own::Constant)),
    ("chlo.constant", VALUE, Pretty::Own(Own::Constant)),
    ("sdy.constant", VALUE, Pretty::Own(Own::Constant)),
    ("chlo.tan", &[], pieces(ARROW)),
    ("mhlo.acos", &[], pieces(SAME_1)),
    ("mhlo.acosh", &[], pieces(SAME_1)),
    ("mhlo.asin", &[], pieces(SAME_1)),
    ("mhlo.asinh", &[], pieces(SAME_1)),
    ("mhlo.atanh", &[], pieces(SAME_1)),
    ("mhlo.cosh", &[], pieces(SAME_1)),
    ("mhlo.erf", &[], pieces(SAME_1)),
    ("mhlo.mulhi", &[], pieces(SAME_2)),
    ("mhlo.sinh", &[], pieces(SAME_1)),
    (
        "stablehlo.dot",
        &[may("precision_config", Precisions)],
        pieces(&[
            L(" "),
            One,
            L(", "),
            One,
            Opt(", precision = ", "precision_config"),
            Dict,
            L(" : "),
            Functional,
        ]),
    ),
];
