//! What a pass asks of the module that it is given.
//!
//! Passes run in any order when they are named one by one. Each relies on what passes before it leave; what of that can be
//! seen in the program is checked before it runs, so that the user hears which pass is missing.

use shardc_ir::{Class, Diagnostic, Module, OpId, OpKind};

/// What must hold of the program before a pass.
#[derive(Clone, Copy, Debug)]
pub struct Precondition {
    /// What holds, as the end of "... needs".
    pub about: &'static str,
    /// The pass that brings it about.
    pub after: &'static str,
    /// The operations that show that it does not hold.
    pub broken_by: fn(&OpKind) -> bool,
    /// Whether it must hold of every function, not of the entry function alone.
    pub everywhere: bool,
}

/// Calls have given way to what they call.
pub(crate) const NO_CALLS: Precondition = Precondition {
    about: "a program without calls",
    after: "inline",
    broken_by: |kind| matches!(kind, OpKind::Call { .. }),
    everywhere: false,
};

/// Collectives that the program asks for have become reshards.
pub(crate) const NO_COLLECTIVES: Precondition = Precondition {
    about: "a program without collectives between shardings",
    after: "decompose",
    broken_by: |kind| matches!(kind, OpKind::MeshCollective(_)),
    everywhere: false,
};

/// Every value has a sharding. No operation shows that it does not hold: what has none is whole.
pub(crate) const PROPAGATED: Precondition = Precondition {
    about: "a propagated program",
    after: "propagate",
    broken_by: |_| false,
    everywhere: false,
};

/// It is decided how each operation is done.
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

/// What moves between devices moves by collectives.
pub(crate) const NO_RESHARDS: Precondition = Precondition {
    about: "a program whose reshards are lowered",
    after: "lower-reshards",
    broken_by: |kind| matches!(kind, OpKind::Reshard(_)),
    everywhere: false,
};

impl Precondition {
    /// Whether it holds for a module that the pass called `pass` is to work on.
    ///
    /// # Errors
    /// SH0391 at the first operation that shows that it does not.
    pub(crate) fn check(&self, module: &Module, pass: &str) -> Result<(), Diagnostic> {
        let entry = module.entry().and_then(|entry| module.funcs[entry].body);
        let broken = |op: &OpId| (self.broken_by)(&module.ops[*op].kind);
        let mut bodies = module.bodies().filter(|&body| self.everywhere || Some(body) == entry);
        let Some(op) = bodies.find_map(|body| module.walk(body).into_iter().find(broken)) else {
            return Ok(());
        };
        let data = &module.ops[op];
        let message = format!("the pass {pass} needs {}, but {} stands in it", self.about, data.kind.title());
        let mut error = Diagnostic::invalid("SH0391", message)
            .at(data.span)
            .hint(format!("run the pass {} before {pass}", self.after));
        error.user_loc = module.user_loc(op);
        Err(error)
    }
}

/// What a pass that relies on the planner says of a program that is not as the planner leaves it, where that shows only
/// in what comes out. What cannot be done to a planned program either is told as it is.
pub(crate) fn not_planned(pass: &str, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    if found.iter().any(|error| error.class == Class::Unsupported) {
        return found;
    }
    let Some(first) = found.into_iter().next() else { return Vec::new() };
    let message =
        format!("the pass {pass} needs a program as plan and lower-reshards leave it: {}", first.message);
    let hint = format!("run the passes propagate, plan and lower-reshards before {pass}");
    vec![Diagnostic {
        user_loc: first.user_loc,
        ..Diagnostic::invalid("SH0392", message).at(first.span).hint(hint)
    }]
}
