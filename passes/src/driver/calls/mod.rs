//! Functions that are partitioned separately instead of being inlined.
//!
//! Forty functions that each call the next one twice have forty bodies, but 10^12 operations when inlined. If inlining would exceed a
//! budget ([`INLINE_BUDGET`](shardc_ir::limits::INLINE_BUDGET)), calls of functions with several call sites are kept:
//!
//! 1. `choose` selects as few functions as possible to meet the budget. They must be independent of their call site: no side effects, no
//!    manual computations, and only tensors of known sizes as parameters and results.
//! 2. `extract` moves each function to its own module, and converts each call of it to a custom call with target `shardc.call.NAME`.
//!    The sharding rule of the custom call follows from the body: dimensions of arguments and results share a factor if
//!    shardings propagate between them. Every factor may be sharded, since the function is partitioned for any shardings.
//!    Propagation, planning and localization treat the call like any other operation.
//! 3. Once the caller is planned, each call has a signature: the shardings of its operands and results. `link` partitions the
//!    function once per signature, as an entry function with these annotations, and then its callees. It adds the
//!    partitioned functions to the module of the caller and replaces the custom calls by calls.
//!
//! Functions and composites with a user-defined rule are kept in the same way, with that rule. A composite is restored afterwards; its
//! decomposition is the partitioned function for its signature. If the decomposition has collectives, the composite becomes a call
//! (SH0361), because a back end that replaces it by a kernel would drop them.
//!
//! Unreduced values are reduced before a call of such a function, since its rule has no reduction factor. All devices must execute the call
//! together; the collective verifier checks this as for a collective.

mod choose;
mod extract;
mod sign;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardc_ir::{Module, TensorSharding};

pub(super) use choose::{choose, requested};
pub(super) use extract::{extract, restored};
pub(super) use sign::sign_calls;

/// The functions of a program that are partitioned separately, callees first.
#[derive(Clone, Debug, Default)]
pub struct KeptFunctions(Arc<Kept>);

impl KeptFunctions {
    /// Whether no function is partitioned separately, because all calls are inlined.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.functions.is_empty()
    }

    fn add(&mut self, function: KeptFunction) {
        let kept = Arc::make_mut(&mut self.0);
        kept.by_name.insert(function.name.clone(), kept.functions.len());
        kept.functions.push(function);
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.0.by_name.get(name).copied()
    }

    pub(super) fn get(&self, number: usize) -> &KeptFunction {
        &self.0.functions[number]
    }
}

#[derive(Clone, Debug, Default)]
struct Kept {
    functions: Vec<KeptFunction>,
    by_name: FxHashMap<Box<str>, usize>,
}

/// A function that is partitioned separately.
#[derive(Clone, Debug)]
pub(super) struct KeptFunction {
    pub(super) name: Box<str>,
    /// A module that contains only the function. In it, calls of other separately partitioned functions are custom calls, as in the caller.
    pub(super) module: Module,
    /// The sharding rule of calls of the function, in the syntax of `sdy.sharding_rule`.
    rule: Box<str>,
    /// The annotation of each parameter.
    params: Vec<Option<TensorSharding>>,
    /// The annotation of each result.
    results: Vec<Option<TensorSharding>>,
}
