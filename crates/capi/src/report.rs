//! Reports: the same facts as text, as JSON and as a page.

use crate::text::Text;

/// A report.
#[derive(Debug)]
pub struct Report {
    pub(crate) text: Text,
    pub(crate) json: Text,
    /// A self-contained page of HTML; empty if there is no page for the report.
    pub(crate) html: Text,
}
