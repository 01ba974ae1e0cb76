//! Operations of dialects that go with StableHLO in tests. They have no kind of their own and are kept as
//! [`OpKind::Opaque`](shardc_ir::OpKind::Opaque).

use super::Piece::{A, All, Dict, L, One, Operand, Operands, Opt, Same};
use super::{Spec, pieces};
use crate::syntax::AttrType::{self, I64, Raw, Str};

const RANGE_OF_ULPS: &[(&str, AttrType)] = &[("max_ulp_difference", I64), ("min_ulp_difference", I64)];

/// All of them.
pub(super) const SPECS: &[Spec] = &[
    ("check.expect_eq", &[], pieces(&[L(" "), All, Dict, L(" : "), Operand])),
    (
        "check.expect_almost_eq",
        &[("tolerance", Raw)],
        pieces(&[L(" "), All, Opt(", tolerance = ", "tolerance"), Dict, L(" : "), Operand]),
    ),
    ("check.expect_eq_const", &[("value", Raw)], pieces(&[L(" "), One, L(", "), A("value"), Dict])),
    (
        "check.expect_almost_eq_const",
        &[("tolerance", Raw), ("value", Raw)],
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
        "interpreter.probe",
        &[("probe_id", Str)],
        pieces(&[L(" "), One, L(", probe_id = "), A("probe_id"), Dict, L(" : "), Same]),
    ),
    ("interpreter.print", &[], pieces(&[L(" "), One, Dict, L(" : "), Operand])),
];
