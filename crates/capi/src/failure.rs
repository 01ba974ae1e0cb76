//! The error of a call.

use shardc::{Cause, Error};

use crate::diagnostics::Diagnostics;
use crate::text::Text;
use crate::words::for_c;

/// An error.
#[derive(Debug)]
pub struct Failure {
    /// All diagnostics in readable form, each with the line of the program that it is about.
    pub(crate) message: Text,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) cause: Cause,
    /// Whether the call was cancelled, or reached its time limit.
    pub(crate) is_interrupted: bool,
}

impl Failure {
    /// The error of a compilation of the program `source`, which is named `name`.
    pub(crate) fn of(error: &Error, name: &str, source: &str) -> Failure {
        let is_interrupted = error.interruption().is_some();
        let reworded = match error {
            Error::Runtime(_) => error.clone(),
            _ => Error::Diagnostics(for_c(error.diagnostics().into_owned())),
        };
        let located = reworded.located(name, source);
        Failure {
            message: reworded.render(name, source, false).trim_end().to_owned().into(),
            cause: located.first().map_or(Cause::InvalidInput, |first| first.class),
            diagnostics: Diagnostics::new(located),
            is_interrupted,
        }
    }

    /// An argument of a call is invalid.
    pub(crate) fn argument(message: &str) -> Failure {
        Failure {
            message: message.to_owned().into(),
            diagnostics: Diagnostics::default(),
            cause: Cause::InvalidInput,
            is_interrupted: false,
        }
    }

    /// A bug in shardc.
    pub(crate) fn internal(message: &str) -> Failure {
        Failure { cause: Cause::Internal, ..Failure::argument(message) }
    }
}
