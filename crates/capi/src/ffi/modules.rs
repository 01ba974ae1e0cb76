//! Programs.

use super::bytes::{Buffer, Bytes};
use super::options::{COptions, read};
use super::{array, borrow, free, give, make};
use crate::diagnostics::Diagnostics;
use crate::failure::Failure;
use crate::program::{Form, Program};
use crate::worker;

/// Text in MLIR's pretty form.
pub const SHARDC_TEXT: u32 = 0;
/// Text in MLIR's generic form, which readers without the StableHLO dialect accept.
pub const SHARDC_GENERIC: u32 = 1;
/// MLIR bytecode.
pub const SHARDC_BYTECODE: u32 = 2;
/// A portable artifact of StableHLO, for readers of a version and newer.
pub const SHARDC_ARTIFACT: u32 = 3;

/// Reads and verifies a program: StableHLO as text, MLIR bytecode or a portable artifact. Messages call it `name`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_module_read(
    source: Bytes,
    name: Bytes,
    out: *mut *mut Program,
) -> *mut Failure {
    // SAFETY: as the header requires of callers.
    unsafe {
        make(out, || {
            let (source, name) = (source.get(), name.text("the name")?);
            worker::run(|| Program::read(source, name))
        })
    }
}

/// Writes a program in a form (SHARDC_TEXT, ...). `version` is that of a SHARDC_ARTIFACT, such as "1.0.0", and empty for other forms.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_module_write(
    module: *const Program,
    form: u32,
    version: Bytes,
    out: *mut *mut Buffer,
) -> *mut Failure {
    // SAFETY: as the header requires of callers.
    unsafe {
        make(out, || {
            let (module, form) = (borrow(module, "the module")?, self::form(form, version)?);
            worker::run(|| module.write(&form)).map(Buffer)
        })
    }
}

/// Propagates shardings: the result has a sharding on every value. `options` may be NULL. If `warnings` is not NULL, the warnings are written
/// to it, and the caller frees them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_propagate(
    module: *const Program,
    options: *const COptions,
    warnings: *mut *mut Diagnostics,
    out: *mut *mut Program,
) -> *mut Failure {
    // SAFETY: as the header requires of callers.
    unsafe {
        make(out, || {
            let (module, options) = (borrow(module, "the module")?, read(options)?);
            let (propagated, found) = worker::run(|| module.propagate(&options))?;
            if !warnings.is_null() {
                warnings.write(give(found));
            }
            Ok(propagated)
        })
    }
}

/// Differentiates a program: the result returns the gradients of the first result, a scalar, with respect to the arguments `wrt` ("arg0", or
/// names of the front end). With `value` 1 it also returns that result.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_grad(
    module: *const Program,
    wrt: *const Bytes,
    num_wrt: usize,
    value: u32,
    out: *mut *mut Program,
) -> *mut Failure {
    // SAFETY: as the header requires of callers.
    unsafe {
        make(out, || {
            let module = borrow(module, "the module")?;
            let names = array(wrt, num_wrt, "wrt")?.iter().map(|name| name.text("wrt"));
            let names = names.collect::<Result<Vec<_>, _>>()?;
            worker::run(|| module.grad(&names, value != 0))
        })
    }
}

/// Frees a program.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_module_free(module: *mut Program) {
    // SAFETY: as the header requires of callers.
    unsafe { free(module) }
}

/// Reads a form, and the version of an artifact.
///
/// # Safety
/// `version` is a readable range.
pub(super) unsafe fn form(form: u32, version: Bytes) -> Result<Form, Failure> {
    match form {
        SHARDC_TEXT => Ok(Form::Text),
        SHARDC_GENERIC => Ok(Form::Generic),
        SHARDC_BYTECODE => Ok(Form::Bytecode),
        SHARDC_ARTIFACT => {
            // SAFETY: as the header requires of callers.
            let text = unsafe { version.text("the version") }?;
            let version = text.parse().map_err(|_| {
                Failure::argument(&format!("\"{text}\" is no version of StableHLO, such as \"1.0.0\""))
            })?;
            Ok(Form::Artifact(version))
        }
        other => Err(Failure::argument(&format!("{other} is no form of programs"))),
    }
}
