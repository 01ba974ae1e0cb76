//! Errors of the interpreter as diagnostics.

use shardc_interpreter::{Error as RunError, Fault};
use shardc_ir::{Diagnostic, Interruption};

use crate::Error;
use crate::exec::Limits;

/// The error of a run, with the operation, the device and the limit that was reached.
pub(in crate::exec) fn run_error(error: &RunError, limits: Limits) -> Error {
    let device = error.device.map(|device| format!(" on device {device}")).unwrap_or_default();
    let place = format!("{}{device}", error.operation);
    let diagnostic = match &error.fault {
        Fault::Unsupported(what) => {
            Diagnostic::unsupported("SH0710", format!("the interpreter cannot run {place}: {what}"))
                .hint("run it on a PJRT plugin (`Engine::Pjrt`)")
        }
        Fault::WorkLimit(work) => Diagnostic::invalid(
            "SH0711",
            format!("{place}: the work limit of {work} elements for each device is reached"),
        )
        .hint("raise the limit (`Limits::work`), or run it on a PJRT plugin (`Engine::Pjrt`)"),
        Fault::Memory(bytes) => {
            let limit = match limits.memory.bytes() {
                Some(limit) if *bytes > limit => format!("the memory limit is {limit} bytes"),
                _ => "the machine has less memory".to_owned(),
            };
            let message = format!("{place}: one value has {bytes} bytes, but {limit}");
            Diagnostic::invalid("SH0711", message).hint("raise the limit (`Limits::memory`)")
        }
        Fault::Interrupted(interruption) => {
            let limit = match interruption {
                Interruption::TimeLimit(limit) => {
                    format!("the time limit of {} s is reached", limit.as_secs_f64())
                }
                other => other.to_string(),
            };
            let error = Diagnostic::invalid("SH0711", format!("{place}: {limit}"))
                .hint("raise the limit (`Limits::time`), or run it on a PJRT plugin (`Engine::Pjrt`)");
            Diagnostic { interruption: Some(*interruption), ..error }
        }
        Fault::Internal(_) => Diagnostic::internal("SH0791", format!("{place}: {}", error.fault)),
        fault => Diagnostic::invalid("SH0712", format!("{place}: {fault}")),
    };
    Diagnostic { user_loc: error.location.clone(), ..diagnostic.at(error.span) }.into()
}

/// The error of an array that is converted or cut into blocks.
pub(in crate::exec) fn array_error(fault: Fault) -> Error {
    match fault {
        Fault::Memory(bytes) => {
            Diagnostic::invalid("SH0711", format!("an array of {bytes} bytes does not fit in memory"))
                .hint("use a smaller program")
                .into()
        }
        fault => Diagnostic::internal("SH0791", format!("an array of the interpreter: {fault}")).into(),
    }
}
