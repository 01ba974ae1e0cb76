//! Functions that are partitioned by themselves, rather than inlined.
//!
//! Forty functions of which each calls the next twice are a million million operations once they are inlined, but forty
//! bodies. Where inlining would make more than a budget ([`INLINE_BUDGET`](shardc_ir::limits::INLINE_BUDGET)), calls of
//! functions that are called several times stay:
//!
//! 1. `choose` finds those functions: as few as bring the program within the budget, and only such of which it does not matter
//!    where they stand (no effects, no manual computations, tensors of known sizes in and out).
//! 2. `extract` makes each of them a program of its own, and each call of it a custom call of the target
//!    `shardc.call.NAME`. Its rule is what the function's body ties together: a dimension of an argument and one of a result
//!    are one factor where shardings propagate between them. Every factor may be split, since the function is partitioned for
//!    whatever it is given. So propagation, planning and localization know such a call as any other operation.
//! 3. Once the caller is planned, each call has a signature: the shardings of its operands and results. `link` partitions the
//!    function for each signature once, as an entry function whose arguments and results are annotated so, with the calls
//!    in it in turn; puts the outcome beside the caller, and calls in the place of the custom calls.
//!
//! Functions and composites that a user wants to be kept whole (functions that rules name) stay in the same way, with the rule that the
//! user gives. A composite is one again afterwards: its decomposition is the function for its signature. Where that has
//! collectives, a back end that replaces the composite by a kernel would leave them out, so that it becomes a call (SH0361).
//!
//! Pending sums end at such a call, whose rule has no reduction. All devices come to it together, which the collective verifier
//! checks as for a collective.

mod choose;
mod extract;
mod link;

use std::sync::Arc;

use rustc_hash::FxHashMap;
use shardc_ir::{Module, TensorSharding};

pub(super) use choose::{choose, requested};
pub(super) use extract::extract;
pub(super) use link::{link, sign_calls};

/// The functions of a program that are partitioned by themselves, each after those that it calls.
#[derive(Clone, Debug, Default)]
pub struct KeptFunctions(Arc<Kept>);

impl KeptFunctions {
    /// Whether there are none: all calls are inlined.
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

    fn get(&self, number: usize) -> &KeptFunction {
        &self.0.functions[number]
    }
}

#[derive(Clone, Debug, Default)]
struct Kept {
    functions: Vec<KeptFunction>,
    by_name: FxHashMap<Box<str>, usize>,
}

/// A function that is partitioned by itself.
#[derive(Clone, Debug)]
struct KeptFunction {
    name: Box<str>,
    /// Its only function is this one, with calls as in the caller.
    module: Module,
    /// Its rule as `sdy.sharding_rule`.
    rule: Box<str>,
    /// What the program says about each parameter.
    params: Vec<Option<TensorSharding>>,
    /// What the program says about each result.
    results: Vec<Option<TensorSharding>>,
}
