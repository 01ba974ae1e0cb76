//! Diagnostic codes that several checks report.

pub(super) const ATTRIBUTE: &str = "SH0216";
