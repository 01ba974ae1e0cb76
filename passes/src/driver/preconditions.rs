//! Preconditions of passes.
//!
//! `opt` runs passes in any order, but a pass relies on postconditions of earlier passes. Postconditions that are visible in the program
//! are checked before a pass runs, and the error names the missing pass.

use shardc_ir::{Class, Diagnostic, Module, OpId, OpKind};

/// A property of the program that a pass requires.
#[derive(Clone, Copy, Debug)]
pub struct Precondition {
    /// The property, as the end of "the pass X needs ...".
    pub about: &'static str,
    /// The pass that establishes the property.
    pub after: &'static str,
    /// Whether an operation violates the property.
    pub broken_by: fn(&OpKind) -> bool,
    /// Whether the property must hold for every function, not only for the entry function.
    pub everywhere: bool,
}

/// Calls are inlined.
pub(crate) const NO_CALLS: Precondition = Precondition {
    about: "a program without calls",
    after: "inline",
    broken_by: |kind| matches!(kind, OpKind::Call { .. }),
    everywhere: false,
};

/// Collectives of the input program that convert between shardings have been replaced by reshards.
pub(crate) const NO_COLLECTIVES: Precondition = Precondition {
    about: "a program without collectives between shardings",
    after: "decompose",
    broken_by: |kind| matches!(kind, OpKind::MeshCollective(_)),
    everywhere: false,
};

/// Every value has a sharding. No operation violates this: a value without a sharding is replicated.
pub(crate) const PROPAGATED: Precondition = Precondition {
    about: "a propagated program",
    after: "propagate",
    broken_by: |_| false,
    everywhere: false,
};

/// Planning is done: no sharding constraint, group or propagation barrier is left.
pub(crate) const PLANNED: Precondition = Precondition {
    about: "a planned program",
    after: "plan",
    broken_by: |kind| {
        matches!(
            kind,
            OpKind::ShardingConstraint(_) | OpKind::ShardingGroup { .. } | OpKind::PropagationBarrier { .. }
        )
    },
    everywhere: false,
};

/// Reshards are lowered to collectives.
pub(crate) const NO_RESHARDS: Precondition = Precondition {
    about: "a program whose reshards are lowered",
    after: "lower-reshards",
    broken_by: |kind| matches!(kind, OpKind::Reshard(_)),
    everywhere: false,
};

impl Precondition {
    /// Checks that the precondition of the pass `pass` holds for a module.
    ///
    /// # Errors
    /// Returns SH0391 at the first operation that violates it.
    pub(crate) fn check(&self, module: &Module, pass: &str) -> Result<(), Diagnostic> {
        let entry = module.entry().and_then(|entry| module.funcs[entry].body);
        let broken = |op: &OpId| (self.broken_by)(&module.ops[*op].kind);
        let mut bodies = module.bodies().filter(|&body| self.everywhere || Some(body) == entry);
        let Some(op) = bodies.find_map(|body| module.walk(body).into_iter().find(broken)) else {
            return Ok(());
        };
        let data = &module.ops[op];
        let message =
            format!("the pass {pass} needs {}, but the program has {}", self.about, data.kind.title());
        let mut error = Diagnostic::invalid("SH0391", message)
            .at(data.span)
            .hint(format!("run the pass {} before {pass}", self.after));
        error.user_loc = module.user_loc(op);
        Err(error)
    }
}

/// Replaces the errors of a pass that needs a planned program by SH0392, which names the missing passes. A pass uses this function if only
/// its result shows that the program was not planned. Errors about unsupported programs are returned unchanged.
pub(crate) fn not_planned(pass: &str, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if found.iter().any(|error| error.class == Class::Unsupported) {
        return found;
    }
    let Some(first) = found.into_iter().next() else { return Vec::new() };
    let message = format!("the pass {pass} needs the output of plan and lower-reshards: {}", first.message);
    let hint = format!("run the passes propagate, plan and lower-reshards before {pass}");
    vec![Diagnostic {
        user_loc: first.user_loc,
        ..Diagnostic::invalid("SH0392", message).at(first.span).hint(hint)
    }]
}
