//! Errors and diagnostics.

use shardc::Cause;

use super::bytes::Bytes;
use super::{borrow, fill, free};
use crate::diagnostics::Diagnostics;
use crate::failure::Failure;

/// The program or the options are invalid: the user has to change them.
pub const SHARDC_INVALID_INPUT: u32 = 1;
/// The program uses a feature that shardc does not support.
pub const SHARDC_UNSUPPORTED: u32 = 2;
/// A bug in shardc. Please report it.
pub const SHARDC_INTERNAL: u32 = 3;
/// The call was cancelled, or reached its time limit.
pub const SHARDC_INTERRUPTED: u32 = 4;

/// An error or a warning. Bytes are empty, and numbers 0, where the diagnostic has none.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CDiagnostic {
    /// sizeof(shardc_diagnostic)
    pub struct_size: usize,
    /// A stable code: "SH0310".
    pub code: Bytes,
    /// One sentence.
    pub message: Bytes,
    /// How to fix the cause.
    pub hint: Bytes,
    /// The name of the program, if the position is in the program.
    pub file: Bytes,
    /// The text of the option, if the position is in an option.
    pub option: Bytes,
    /// The position in the user's own program, if the module has source locations: "model.py:12:5".
    pub user_location: Bytes,
    /// 1 for an error, 0 for a warning.
    pub is_error: u32,
    /// SHARDC_INVALID_INPUT, SHARDC_UNSUPPORTED or SHARDC_INTERNAL.
    pub error_class: u32,
    /// Line of the first character, counted from 1.
    pub line: usize,
    /// Column of the first character, in characters, counted from 1.
    pub column: usize,
    /// Line of the end.
    pub end_line: usize,
    /// Column of the end, which is exclusive.
    pub end_column: usize,
    /// In a warning about costs, the additional bytes that a device sends or stores.
    pub bytes: u64,
}

/// Why the call failed: SHARDC_INVALID_INPUT, SHARDC_UNSUPPORTED, SHARDC_INTERNAL or SHARDC_INTERRUPTED.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_error_class(error: *const Failure) -> u32 {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(error, "the error") }
        .map_or(0, |error| if error.is_interrupted { SHARDC_INTERRUPTED } else { class(error.cause) })
}

/// All diagnostics in readable form, each with the line of the program that it is about.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_error_message(error: *const Failure) -> Bytes {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(error, "the error") }.map_or(Bytes::NONE, |error| Bytes::of(&error.message))
}

/// The diagnostics of an error, which belong to it. The list is empty if an argument of the call is invalid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_error_diagnostics(error: *const Failure) -> *const Diagnostics {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(error, "the error") }.map_or(std::ptr::null(), |error| &raw const error.diagnostics)
}

/// Frees an error with its diagnostics.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_error_free(error: *mut Failure) {
    // SAFETY: as the header requires of callers.
    unsafe { free(error) }
}

/// The number of diagnostics.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_diagnostics_count(list: *const Diagnostics) -> usize {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(list, "the list") }.map_or(0, |list| list.items.len())
}

/// Writes a diagnostic to `out`, whose `struct_size` the caller has set; its bytes belong to the list. Returns whether there is one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_diagnostics_get(
    list: *const Diagnostics,
    index: usize,
    out: *mut CDiagnostic,
) -> bool {
    // SAFETY: as the header requires of callers.
    let Ok(list) = (unsafe { borrow(list, "the list") }) else { return false };
    let Some(item) = list.items.get(index) else { return false };
    let place = item.place.as_ref();
    let own = CDiagnostic {
        struct_size: size_of::<CDiagnostic>(),
        code: Bytes::of(&item.code),
        message: Bytes::of(&item.message),
        hint: Bytes::of(&item.hint),
        file: Bytes::of(&item.file),
        option: Bytes::of(&item.option),
        user_location: Bytes::of(&item.user_location),
        is_error: item.is_error.into(),
        error_class: class(item.cause),
        line: place.map_or(0, |place| place.line),
        column: place.map_or(0, |place| place.column),
        end_line: place.map_or(0, |place| place.end_line),
        end_column: place.map_or(0, |place| place.end_column),
        bytes: item.bytes,
    };
    // SAFETY: as the header requires of callers.
    unsafe { fill(out, &own) }
}

/// The diagnostics as JSON, with their notes: an array of objects.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_diagnostics_json(list: *const Diagnostics) -> Bytes {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(list, "the list") }.map_or(Bytes::NONE, |list| Bytes::of(&list.json))
}

/// Frees a list that `shardc_propagate` made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_diagnostics_free(list: *mut Diagnostics) {
    // SAFETY: as the header requires of callers.
    unsafe { free(list) }
}

fn class(cause: Cause) -> u32 {
    match cause {
        Cause::InvalidInput => SHARDC_INVALID_INPUT,
        Cause::Unsupported => SHARDC_UNSUPPORTED,
        Cause::Internal => SHARDC_INTERNAL,
    }
}
