//! Operations of the chlo dialect.

use super::Piece::{A, Arrow, Dict, L, One, Unless};
use super::{FUNCTIONAL, Own, Pretty, Spec, pieces};
use crate::syntax::AttrType::{self, Any, Bool, ChloPrecisions, ChloWord, I32s, I64, Ints, RaggedDot};

/// Those that are not elementwise.
pub(super) const SPECS: &[Spec] = &[
    (
        "chlo.top_k",
        &[("is_stable", Bool), ("k", I64)],
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
    ("chlo.constant_like", &[("value", Any)], Pretty::None),
    (
        "chlo.ragged_dot",
        &[("precision_config", ChloPrecisions), ("ragged_dot_dimension_numbers", RaggedDot)],
        Pretty::None,
    ),
    (
        "chlo.scan",
        &[
            ("dimension", I64),
            ("is_associative", Bool),
            ("is_reverse", Bool),
            ("operandSegmentSizes", I32s),
            ("resultSegmentSizes", I32s),
            ("scan_dim_size", I64),
        ],
        Pretty::Own(Own::Scan),
    ),
    (
        "chlo.broadcast_compare",
        &[
            ("broadcast_dimensions", Ints),
            ("compare_type", ChloWord("comparison_type")),
            ("comparison_direction", ChloWord("comparison_direction")),
        ],
        pieces(FUNCTIONAL),
    ),
    ("chlo.broadcast_select", &[], pieces(FUNCTIONAL)),
    ("chlo.constant", &[("value", AttrType::Dense)], Pretty::Own(Own::Constant)),
];
