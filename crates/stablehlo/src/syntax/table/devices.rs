//! Operations of StableHLO that speak to other devices, to the host or to functions.

use super::Piece::{A, All, Dict, Functional, L, Regions, Result, Same};
use super::{Own, Pretty, Spec, pieces};
use crate::syntax::AttrType::{self, Any, Bool, Channel, Groups, I32, I64, Str, Symbol, Unit};

const COLLECTIVE: &[(&str, AttrType)] =
    &[("channel_handle", Channel), ("replica_groups", Groups), ("use_global_device_ids", Unit)];

const ROOTED: &[(&str, AttrType)] = &[
    ("channel_handle", Channel),
    ("has_dynamic_root", Unit),
    ("replica_groups", Groups),
    ("use_global_device_ids", Unit),
];

const TRANSFER: &[(&str, AttrType)] =
    &[("channel_handle", Channel), ("is_host_transfer", Bool), ("source_target_pairs", Groups)];

/// All of them.
pub(super) const SPECS: &[Spec] = &[
    ("func.call", &[("callee", Symbol)], Pretty::Own(Own::Call)),
    ("stablehlo.custom_call", &[("call_target_name", Str)], Pretty::Own(Own::CustomCall)),
    ("stablehlo.after_all", &[], pieces(&[L(" "), All, Dict, L(" : "), Same])),
    ("stablehlo.all_reduce", COLLECTIVE, Pretty::None),
    (
        "stablehlo.all_gather",
        &[
            ("all_gather_dim", I64),
            ("channel_handle", Channel),
            ("replica_groups", Groups),
            ("use_global_device_ids", Unit),
        ],
        Pretty::None,
    ),
    (
        "stablehlo.reduce_scatter",
        &[
            ("channel_handle", Channel),
            ("replica_groups", Groups),
            ("scatter_dimension", I64),
            ("use_global_device_ids", Unit),
        ],
        Pretty::None,
    ),
    (
        "stablehlo.all_to_all",
        &[
            ("channel_handle", Channel),
            ("concat_dimension", I64),
            ("replica_groups", Groups),
            ("split_count", I64),
            ("split_dimension", I64),
        ],
        Pretty::None,
    ),
    (
        "stablehlo.collective_permute",
        &[("channel_handle", Channel), ("source_target_pairs", Groups)],
        Pretty::None,
    ),
    ("stablehlo.collective_broadcast", ROOTED, Pretty::None),
    ("stablehlo.collective_reduce", ROOTED, Pretty::None),
    ("stablehlo.cross-replica-sum", &[("replica_groups", Groups)], Pretty::None),
    ("stablehlo.partition_id", &[], pieces(&[Dict, L(" : "), Result])),
    ("stablehlo.replica_id", &[], pieces(&[Dict, L(" : "), Result])),
    ("stablehlo.create_token", &[], pieces(&[Dict, L(" : "), Result])),
    (
        "stablehlo.composite",
        &[("composite_attributes", Any), ("decomposition", Symbol), ("name", Str), ("version", I32)],
        pieces(&[L(" "), A("name"), L(" "), All, Regions, Dict, L(" : "), Functional]),
    ),
    ("stablehlo.infeed", &[("infeed_config", Str), ("layout", Any)], Pretty::None),
    ("stablehlo.outfeed", &[("outfeed_config", Str)], Pretty::None),
    ("stablehlo.send", TRANSFER, Pretty::None),
    ("stablehlo.recv", TRANSFER, Pretty::None),
    ("stablehlo.async_start", &[], Pretty::None),
    ("stablehlo.async_done", &[], Pretty::None),
];
