//! Operations that are read as others.

use shardc_ir::AttrDef;
use shardc_ir::AttrType::{Dense, Precisions};

use super::Piece::{Dict, Functional, L, One, Opt};
use super::{ARROW, Own, Pretty, Spec, may, need, pieces};

const VALUE: &[AttrDef] = &[need("value", Dense)];

/// Those that are read as constants, `stablehlo.dot` as `stablehlo.dot_general`, `chlo.tan` as StableHLO's.
pub(super) const SPECS: &[Spec] = &[
    ("arith.constant", VALUE, Pretty::Own(Own::Constant)),
    ("chlo.constant", VALUE, Pretty::Own(Own::Constant)),
    ("sdy.constant", VALUE, Pretty::Own(Own::Constant)),
    ("chlo.tan", &[], pieces(ARROW)),
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
