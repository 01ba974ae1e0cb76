//! Reports.

use shardc::explain::Question;

use super::bytes::Bytes;
use super::options::{COptions, read};
use super::{borrow, free, make};
use crate::failure::Failure;
use crate::options::Options;
use crate::program::Program;
use crate::report::Report;
use crate::worker;

/// Explains why values are sharded and why collectives are there: of the whole program, or of `value` ("%3", "arg0", or a name of the front
/// end) if it is not empty. `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_explain(
    module: *const Program,
    options: *const COptions,
    value: Bytes,
    out: *mut *mut Report,
) -> *mut Failure {
    // SAFETY: as the header requires of callers.
    unsafe {
        report(module, options, out, |module, options| {
            let question = match value.text("the value")? {
                "" => Question::Overview,
                name => Question::Value(name.to_owned()),
            };
            worker::run(|| module.explain(options, &question))
        })
    }
}

/// Estimates memory and time of a device of the options' target, which must have a grid ("v5p:4x4x4"), and suggests changes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_plan(
    module: *const Program,
    options: *const COptions,
    out: *mut *mut Report,
) -> *mut Failure {
    // SAFETY: as the header requires of callers.
    unsafe { report(module, options, out, |module, options| worker::run(|| module.plan(options))) }
}

/// Reports annotations that are valid but probably cost more than intended. `options` may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_lint(
    module: *const Program,
    options: *const COptions,
    out: *mut *mut Report,
) -> *mut Failure {
    // SAFETY: as the header requires of callers.
    unsafe { report(module, options, out, |module, options| worker::run(|| module.lint(options))) }
}

/// The report as text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_report_text(report: *const Report) -> Bytes {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(report, "the report") }.map_or(Bytes::NONE, |report| Bytes::of(&report.text))
}

/// The report as JSON, as the program `shardc` writes it with `--json`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_report_json(report: *const Report) -> Bytes {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(report, "the report") }.map_or(Bytes::NONE, |report| Bytes::of(&report.json))
}

/// The report as a self-contained page; empty if there is no page for it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_report_html(report: *const Report) -> Bytes {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(report, "the report") }.map_or(Bytes::NONE, |report| Bytes::of(&report.html))
}

/// Frees a report.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_report_free(report: *mut Report) {
    // SAFETY: as the header requires of callers.
    unsafe { free(report) }
}

/// Makes a report about a program.
///
/// # Safety
/// `module` is an object that is not freed, `options` is NULL or a struct of its size, and `out` can be written.
unsafe fn report(
    module: *const Program,
    options: *const COptions,
    out: *mut *mut Report,
    work: impl FnOnce(&Program, &Options) -> Result<Report, Failure>,
) -> *mut Failure {
    // SAFETY: as the header requires of callers.
    unsafe {
        make(out, || {
            let (module, options) = (borrow(module, "the module")?, read(options)?);
            work(module, &options)
        })
    }
}
