//! Proofs, and tests of parts of programs that cannot be run.

use shardc_ir::Module;

use crate::boundary::Boundary;
use crate::report::{Error, Evidence, Report, Verdict};
use crate::{Options, check, cut, effects};

/// Decides whether the partitioned program computes what the original computes.
///
/// # Errors
/// The programs have no entry functions, the boundary does not describe them, or the check is interrupted.
pub fn prove(
    original: &Module,
    partitioned: &Module,
    boundary: &Boundary,
    options: &Options,
) -> Result<Report, Error> {
    let mut report = check::directly(original, partitioned, boundary, options)?;
    let is_open = report.verdict == Verdict::NotDecided && report.untested.is_some();
    if is_open
        && !options.always_test
        && effects::places(original, partitioned).is_empty()
        && let Some(place) = cut::intermediate(original, partitioned, boundary, options)?
    {
        (report.verdict, report.evidence) = (Verdict::Refuted, Some(Evidence::Intermediate));
        report.places.insert(0, place);
    }
    Ok(report)
}
