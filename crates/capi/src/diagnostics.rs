//! Errors and warnings, with the texts that C reads.

use shardc::{Cause, Diagnostic, Level, LocatedDiagnostic, Place};

use crate::text::Text;

/// A list of errors or warnings.
#[derive(Debug, Default)]
pub struct Diagnostics {
    pub(crate) items: Vec<Item>,
    /// All of them as JSON: an array of objects.
    pub(crate) json: Text,
}

/// An error or a warning.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) code: Text,
    pub(crate) message: Text,
    pub(crate) hint: Text,
    pub(crate) file: Text,
    pub(crate) option: Text,
    pub(crate) user_location: Text,
    pub(crate) is_error: bool,
    pub(crate) cause: Cause,
    pub(crate) place: Option<Place>,
    pub(crate) bytes: u64,
}

impl Diagnostics {
    /// The diagnostics about the program `source`, which is named `name`.
    pub(crate) fn located(diagnostics: &[Diagnostic], name: &str, source: &str) -> Diagnostics {
        let located = diagnostics.iter().map(|diagnostic| LocatedDiagnostic::new(diagnostic, name, source));
        Diagnostics::new(located.collect())
    }

    pub(crate) fn new(located: Vec<LocatedDiagnostic>) -> Diagnostics {
        // They consist of strings and numbers, so that this cannot fail.
        let json = serde_json::to_string(&located).unwrap_or_default().into();
        Diagnostics { items: located.into_iter().map(Item::new).collect(), json }
    }
}

impl Item {
    fn new(located: LocatedDiagnostic) -> Item {
        let text = |text: Option<String>| Text::from(text.unwrap_or_default());
        Item {
            code: located.code.into(),
            message: located.message.into(),
            hint: text(located.hint),
            file: text(located.file),
            option: text(located.option),
            user_location: text(located.user_location),
            is_error: located.severity == Level::Error,
            cause: located.class,
            place: located.place,
            bytes: located.bytes.unwrap_or(0),
        }
    }
}
