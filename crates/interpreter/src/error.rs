//! Errors: a [`Fault`] is the reason, an [`Error`] adds the operation, its location and the device.

use shardc_ir::{Interruption, Module, OpId, Span};

/// Why an operation could not be evaluated.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// The interpreter does not implement the operation, an element type or an attribute.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// Operands do not fit the operation. The verifier rejects most such programs; sizes that are known only at run time are checked here.
    #[error("{0}")]
    Invalid(String),
    /// A check of the program failed, or a handler of foreign operations reported an error.
    #[error("{0}")]
    Failed(String),
    /// The limit of [`Options::max_work`](crate::Options::max_work) is reached.
    #[error("the work limit of {0} elements is reached")]
    WorkLimit(u64),
    /// A value exceeds [`Options::max_bytes`](crate::Options::max_bytes), or memory is exhausted.
    #[error("a value of {0} bytes does not fit in memory")]
    Memory(u64),
    /// Regions or calls are nested too deeply.
    #[error("regions and calls are nested more than {0} levels deep")]
    Depth(usize),
    /// The run was interrupted.
    #[error("{0}")]
    Interrupted(Interruption),
    /// All devices that have not finished wait for each other.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// Another device failed while this device waited for it.
    #[error("another device failed")]
    Aborted,
    /// A defect of the interpreter.
    #[error("internal error: {0}")]
    Internal(String),
}

impl Fault {
    /// Shortens `Err(Fault::Invalid(...))`.
    pub(crate) fn invalid<T>(message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::Invalid(message.into()))
    }

    /// Shortens `Err(Fault::Unsupported(...))`.
    pub(crate) fn unsupported<T>(message: impl Into<String>) -> Result<T, Fault> {
        Err(Fault::Unsupported(message.into()))
    }
}

/// An error of a run.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{}{}{operation}: {fault}", self.device.map(|n| format!("device {n}: ")).unwrap_or_default(),
    self.location.as_ref().map(|at| format!("{at}: ")).unwrap_or_default())]
pub struct Error {
    /// The full name of the operation, or of the function that was called.
    pub operation: String,
    /// The position of the operation in the source text.
    pub span: Span,
    /// The location of the operation in the user's program, if known.
    pub location: Option<String>,
    /// The number of the device in a run on several devices.
    pub device: Option<usize>,
    /// The reason.
    #[source]
    pub fault: Fault,
}

impl Error {
    /// The error for an operation of a module.
    pub(crate) fn at(module: &Module, op: OpId, fault: Fault) -> Box<Error> {
        let data = &module.ops[op];
        let operation = match &data.kind {
            shardc_ir::OpKind::CustomCall(spec) => format!("{} @{}", data.kind.name(), spec.target),
            kind => kind.name().to_owned(),
        };
        Box::new(Error { operation, span: data.span, location: module.user_loc(op), device: None, fault })
    }

    /// The error for a function.
    pub(crate) fn of_function(name: &str, span: Span, fault: Fault) -> Box<Error> {
        Box::new(Error { operation: format!("@{name}"), span, location: None, device: None, fault })
    }
}
