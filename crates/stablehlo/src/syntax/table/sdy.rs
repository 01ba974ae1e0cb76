//! Operations of the sdy dialect.

use super::Piece::{A, Dict, L, Lead, One, Operand, Opt, Same};
use super::{Own, Piece, Pretty, SAME_1, Spec, pieces};
use crate::syntax::AttrType::{
    self, AllToAll, Axes, AxesPerDim, I64, ManualAxes, Number, Sharding, Shardings, Str,
};

const DIRECTIONS: &[&str] = &["NONE", "FORWARD", "BACKWARD", "BOTH"];
/// The numbers of reductions in generic form. Shardy has the first three.
const REDUCTIONS: &[&str] = &["sum", "max", "min", "mul", "and", "or", "xor"];

const TO_UNREDUCED: &[Piece] =
    &[L(" "), A("axes"), L(" "), One, L(" out_sharding="), A("out_sharding"), Dict, L(" : "), Same];

/// All of them.
pub(super) const SPECS: &[Spec] = &[
    (
        "sdy.sharding_constraint",
        &[("sharding", Sharding)],
        pieces(&[L(" "), One, L(" "), A("sharding"), Dict, L(" : "), Same]),
    ),
    (
        "sdy.reshard",
        &[("sharding", Sharding)],
        pieces(&[L(" "), One, L(" "), A("sharding"), Dict, L(" : "), Same]),
    ),
    (
        "sdy.all_gather",
        &[("gathering_axes", AxesPerDim), ("out_sharding", Sharding)],
        pieces(&[
            L(" "),
            A("gathering_axes"),
            L(" "),
            One,
            L(" out_sharding="),
            A("out_sharding"),
            Dict,
            L(" : "),
            Same,
        ]),
    ),
    (
        "sdy.all_slice",
        &[("out_sharding", Sharding), ("slicing_axes", AxesPerDim)],
        pieces(&[
            L(" "),
            A("slicing_axes"),
            L(" "),
            One,
            L(" out_sharding="),
            A("out_sharding"),
            Dict,
            L(" : "),
            Same,
        ]),
    ),
    (
        "sdy.all_to_all",
        &[("out_sharding", Sharding), ("params", AllToAll)],
        pieces(&[
            L(" "),
            A("params"),
            L(" "),
            One,
            L(" out_sharding="),
            A("out_sharding"),
            Dict,
            L(" : "),
            Same,
        ]),
    ),
    (
        "sdy.collective_permute",
        &[("out_sharding", Sharding)],
        pieces(&[L(" "), One, L(" out_sharding="), A("out_sharding"), Dict, L(" : "), Same]),
    ),
    (
        "sdy.all_reduce",
        &[("out_sharding", Sharding), ("reduction_axes", Axes), ("reduction_op", Number(REDUCTIONS))],
        pieces(&[
            L(" "),
            Lead("reduction_op"),
            A("reduction_axes"),
            L(" "),
            One,
            L(" out_sharding="),
            A("out_sharding"),
            Dict,
            L(" : "),
            Same,
        ]),
    ),
    (
        "sdy.reduce_scatter",
        &[
            ("out_sharding", Sharding),
            ("reduce_scatter_axes", AxesPerDim),
            ("reduction_op", Number(REDUCTIONS)),
        ],
        pieces(&[
            L(" "),
            Lead("reduction_op"),
            A("reduce_scatter_axes"),
            L(" "),
            One,
            L(" out_sharding="),
            A("out_sharding"),
            Dict,
            L(" : "),
            Same,
        ]),
    ),
    ("sdy.sharded_to_unreduced", &[("axes", AxesPerDim), ("out_sharding", Sharding)], pieces(TO_UNREDUCED)),
    ("sdy.replicated_to_unreduced", &[("axes", Axes), ("out_sharding", Sharding)], pieces(TO_UNREDUCED)),
    (
        "sdy.manual_computation",
        &[("in_shardings", Shardings), ("manual_axes", ManualAxes), ("out_shardings", Shardings)],
        Pretty::Own(Own::ManualComputation),
    ),
    (
        "sdy.propagation_barrier",
        &[("allowed_direction", Number(DIRECTIONS))],
        pieces(&[L(" "), One, L(" allowed_direction="), A("allowed_direction"), Dict, L(" : "), Same]),
    ),
    (
        "sdy.sharding_group",
        &[("group_id", I64)],
        pieces(&[L(" "), One, L(" group_id="), A("group_id"), Dict, L(" : "), Operand]),
    ),
    (
        "sdy.data_flow_edge",
        &[("sharding", Sharding)],
        pieces(&[L(" "), One, Opt(" sharding=", "sharding"), Dict, L(" : "), Same]),
    ),
    ("sdy.func_data_flow_edge", &[], pieces(SAME_1)),
    (
        "sdy.named_computation",
        &[("in_shardings", Shardings), ("name", Str), ("out_shardings", Shardings)],
        Pretty::Own(Own::NamedComputation),
    ),
    ("sdy.constant", &[("value", AttrType::Dense)], Pretty::Own(Own::Constant)),
];
