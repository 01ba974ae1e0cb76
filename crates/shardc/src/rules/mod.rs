//! Sharding rules of custom calls, functions and composites, from a user's file.
//!
//! The file is TOML. The table of each callee has one key, `rule`: a rule in one of three notations, or a list of rules. The first
//! rule of a list that fits a call applies.
//!
//! ```toml
//! # Operands and results have the same shape; the call is element-wise.
//! [custom_call."tt.mark_argument"]
//! rule = "pointwise"
//!
//! # One letter for each dimension. Dimensions with shared letters may be sharded; the others are replicated.
//! [custom_call.my_attention]
//! rule = ["bqd,bkd->bqe", "bhqd,bhkd->bhqe"]
//!
//! # Shardy's notation: factors, their sizes and their kinds.
//! [custom_call.row_sums]
//! rule = "([i, j])->([i]) {i=64, j=32} reduction={j}"
//!
//! # Calls of this function are not inlined: it is partitioned separately, with the shardings that the rule allows.
//! [function.layer]
//! rule = "bd,df->bf"
//!
//! # The composite is kept, with a decomposition on local shapes.
//! [composite."tenstorrent.gelu_tanh"]
//! rule = "pointwise"
//! ```

#[cfg(feature = "rule-files")]
mod file;

#[doc(inline)]
pub use shardc_passes::rules::letters::{LetterPlace, LettersFault, Side, TensorRef};
#[doc(inline)]
pub use shardc_passes::rules::notation::Notation;
#[doc(inline)]
pub use shardc_passes::rules::registry::{CallRule, Callee, CustomCall, RuleError};
#[doc(inline)]
pub use shardc_passes::rules::sharding_rule::{Factor, FactorIndex, FactorKind, ShardingRule, TensorMapping};
#[doc(inline)]
pub use shardc_passes::rules::text::RuleParseError;

/// The rules of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuleFile {
    /// The callee of each rule, and its notations.
    pub rules: Vec<(Callee, String, Vec<Notation>)>,
}
