//! Pretty forms of calls, composites, tokens and device ids.

use super::Piece::{A, All, Dict, Functional, L, Regions, Result, Same};
use super::{Own, Pretty, pieces};

/// All pretty forms of this file.
pub(super) const PRETTY: &[(&str, Pretty)] = &[
    ("func.call", Pretty::Own(Own::Call)),
    ("stablehlo.custom_call", Pretty::Own(Own::CustomCall)),
    ("stablehlo.after_all", pieces(&[L(" "), All, Dict, L(" : "), Same])),
    ("stablehlo.partition_id", pieces(&[Dict, L(" : "), Result])),
    ("stablehlo.replica_id", pieces(&[Dict, L(" : "), Result])),
    ("stablehlo.create_token", pieces(&[Dict, L(" : "), Result])),
    ("stablehlo.composite", pieces(&[L(" "), A("name"), L(" "), All, Regions, Dict, L(" : "), Functional])),
];
