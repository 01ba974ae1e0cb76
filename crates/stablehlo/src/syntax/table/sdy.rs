//! Pretty forms of operations of the sdy dialect.

use super::Piece::{A, Dict, L, Lead, One, Operand, Opt, Same};
use super::{Own, Piece, Pretty, SAME_1, pieces};

const TO_UNREDUCED: &[Piece] =
    &[L(" "), A("axes"), L(" "), One, L(" out_sharding="), A("out_sharding"), Dict, L(" : "), Same];

/// All pretty forms of this file.
pub(super) const PRETTY: &[(&str, Pretty)] = &[
    ("sdy.sharding_constraint", pieces(&[L(" "), One, L(" "), A("sharding"), Dict, L(" : "), Same])),
    ("sdy.reshard", pieces(&[L(" "), One, L(" "), A("sharding"), Dict, L(" : "), Same])),
    (
        "sdy.all_gather",
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
        pieces(&[L(" "), One, L(" out_sharding="), A("out_sharding"), Dict, L(" : "), Same]),
    ),
    ("shardc.exchange", pieces(&[L(" "), One, L(" out_sharding="), A("out_sharding"), Dict, L(" : "), Same])),
    (
        "sdy.all_reduce",
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
    ("sdy.sharded_to_unreduced", pieces(TO_UNREDUCED)),
    ("sdy.replicated_to_unreduced", pieces(TO_UNREDUCED)),
    ("sdy.manual_computation", Pretty::Own(Own::ManualComputation)),
    (
        "sdy.propagation_barrier",
        pieces(&[L(" "), One, L(" allowed_direction="), A("allowed_direction"), Dict, L(" : "), Same]),
    ),
    ("sdy.sharding_group", pieces(&[L(" "), One, L(" group_id="), A("group_id"), Dict, L(" : "), Operand])),
    ("sdy.data_flow_edge", pieces(&[L(" "), One, Opt(" sharding=", "sharding"), Dict, L(" : "), Same])),
    ("sdy.func_data_flow_edge", pieces(SAME_1)),
    ("sdy.named_computation", Pretty::Own(Own::NamedComputation)),
];
