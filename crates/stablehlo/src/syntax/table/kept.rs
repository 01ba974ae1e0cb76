//! Operations of other dialects that tests use together with StableHLO. They have no operation kind and are stored as
//! [`OpKind::Opaque`](shardc_ir::OpKind::Opaque).

use super::Piece::{A, All, Cast, Dict, L, One, Operand, Operands, Opt, Same};
use shardc_ir::AttrDef;
use shardc_ir::AttrType::{Any, Prefixed, Str, Typed};

use super::{Piece, SAME_2, Spec, may, need, pieces};

const RANGE_OF_ULPS: &[AttrDef] =
    &[may("max_ulp_difference", Typed("ui64")), may("min_ulp_difference", Typed("ui64"))];

const FASTMATH: &[AttrDef] = &[may("fastmath", Prefixed("#arith.fastmath"))];
const OVERFLOW: &[AttrDef] = &[may("overflowFlags", Prefixed("#arith.overflow"))];

const FLOATS: &[Piece] = &[L(" "), One, L(", "), One, Opt(" fastmath", "fastmath"), Dict, L(" : "), Same];
const INTEGERS: &[Piece] =
    &[L(" "), One, L(", "), One, Opt(" overflow", "overflowFlags"), Dict, L(" : "), Same];

/// Attributes with their default values. MLIR adds them if they are absent, and omits them in pretty forms.
pub(crate) const IMPLIED: &[(&str, &str)] =
    &[("fastmath", "#arith.fastmath<none>"), ("overflowFlags", "#arith.overflow<none>")];

/// All operations of this file.
pub(super) const SPECS: &[Spec] = &[
    ("check.expect_eq", &[], pieces(&[L(" "), All, Dict, L(" : "), Operand])),
    (
        "check.expect_almost_eq",
        &[may("tolerance", Typed("f64"))],
        pieces(&[L(" "), All, Opt(", tolerance = ", "tolerance"), Dict, L(" : "), Operand]),
    ),
    ("check.expect_eq_const", &[need("value", Any)], pieces(&[L(" "), One, L(", "), A("value"), Dict])),
    (
        "check.expect_almost_eq_const",
        &[may("tolerance", Typed("f64")), need("value", Any)],
        pieces(&[L(" "), One, L(", "), A("value"), Opt(", tolerance = ", "tolerance"), Dict]),
    ),
    (
        "check.expect_close",
        RANGE_OF_ULPS,
        pieces(&[
            L(" "),
            All,
            L(", max_ulp_difference = "),
            A("max_ulp_difference"),
            Opt(", min_ulp_difference = ", "min_ulp_difference"),
            L(" :"),
            Dict,
            L(" "),
            Operands,
        ]),
    ),
    (
        "check.expect_serialized_eq",
        &[may("iteration", Typed("ui32")), need("probe_id", Str)],
        pieces(&[
            L(" "),
            One,
            L(", probe_id = "),
            A("probe_id"),
            Opt(", iter = ", "iteration"),
            Dict,
            L(" : "),
            Operand,
        ]),
    ),
    (
        "interpreter.probe",
        &[need("probe_id", Str)],
        pieces(&[L(" "), One, L(", probe_id = "), A("probe_id"), Dict, L(" : "), Same]),
    ),
    ("interpreter.print", &[], pieces(&[L(" "), One, Dict, L(" : "), Operand])),
    ("arith.addf", FASTMATH, pieces(FLOATS)),
    ("arith.subf", FASTMATH, pieces(FLOATS)),
    ("arith.mulf", FASTMATH, pieces(FLOATS)),
    ("arith.divf", FASTMATH, pieces(FLOATS)),
    ("arith.maximumf", FASTMATH, pieces(FLOATS)),
    ("arith.minimumf", FASTMATH, pieces(FLOATS)),
    ("arith.addi", OVERFLOW, pieces(INTEGERS)),
    ("arith.subi", OVERFLOW, pieces(INTEGERS)),
    ("arith.muli", OVERFLOW, pieces(INTEGERS)),
    ("arith.andi", &[], pieces(SAME_2)),
    ("arith.ori", &[], pieces(SAME_2)),
    ("arith.xori", &[], pieces(SAME_2)),
    ("tensor.cast", &[], pieces(&[L(" "), One, Dict, L(" : "), Cast])),
];
