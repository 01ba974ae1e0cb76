//! An MLIR context for one lowering, and what MLIR says while it runs.

use melior::{Context, dialect::DialectHandle};
use shardc_ir::Diagnostic;

use crate::ffi::{self, Errors};

/// An MLIR context that knows `builtin` and `func`, takes any other dialect unseen, and runs on one thread.
pub(crate) struct Session {
    pub(crate) context: Context,
    errors: Errors,
}

impl Session {
    pub(crate) fn new() -> Self {
        let session = Session::without_dialects();
        DialectHandle::func().load_dialect(&session.context);
        session
    }

    /// One that knows `builtin` alone, and so verifies nothing of functions: a verifier that sees a call within an
    /// operation that it does not know looks for the function there, and does not find it.
    pub(crate) fn without_dialects() -> Self {
        let context = Context::new_with_threading(false);
        let errors = ffi::collect_errors(&context);
        context.set_allow_unregistered_dialects(true);
        Session { context, errors }
    }

    /// A diagnostic that says `what` failed, with what MLIR said about it.
    pub(crate) fn failure(&self, code: &'static str, what: impl Into<String>) -> Diagnostic {
        let mut what = what.into();
        // Every error is taken, so that the next failure does not repeat this one's.
        let errors = self.errors.take();
        if !errors.is_empty() {
            what.push_str(": ");
            what.push_str(&errors.join("; "));
        }
        Diagnostic::internal(code, what)
    }
}
