//! Calls to MLIR's C API that melior does not wrap, or wraps in a way that can panic in a callback from C++.

#![allow(unsafe_code, reason = "calls of MLIR's C API, whose safety requirements this module ensures")]

use std::{cell::RefCell, ffi::c_void, rc::Rc};

use melior::{
    Context,
    ir::{Attribute, AttributeLike, Location, Module, Type, TypeLike},
};
use mlir_sys::{
    MlirDiagnostic, MlirDiagnosticSeverity_MlirDiagnosticError as SEVERITY_ERROR, MlirLogicalResult,
    MlirStringRef, mlirAttributeGetNull, mlirAttributeIsALocation, mlirContextAttachDiagnosticHandler,
    mlirDenseElementsAttrBoolGet, mlirDenseElementsAttrRawBufferGet, mlirDiagnosticGetNote,
    mlirDiagnosticGetNumNotes, mlirDiagnosticGetSeverity, mlirDiagnosticPrint, mlirLocationFromAttribute,
    mlirLocationFusedGet, mlirOpPrintingFlagsCreate, mlirOpPrintingFlagsDestroy,
    mlirOpPrintingFlagsEnableDebugInfo, mlirOpPrintingFlagsPrintGenericOpForm, mlirOperationPrintWithFlags,
    mlirOperationWriteBytecode,
};

/// Appends printed text to the `Vec<u8>` to which `data` points.
unsafe extern "C" fn collect(text: MlirStringRef, data: *mut c_void) {
    if text.length == 0 {
        return;
    }
    // SAFETY: `data` is the `Vec<u8>` that each caller below passes, and it is not accessed otherwise during the call; `text`
    // points to `length` bytes that are valid during the call.
    unsafe {
        let out = &mut *data.cast::<Vec<u8>>();
        out.extend_from_slice(std::slice::from_raw_parts(text.data.cast::<u8>(), text.length));
    }
}

/// Writes the module as bytecode.
pub(crate) fn write_bytecode(module: &Module<'_>) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    // SAFETY: the operation is alive; `data` is a `Vec<u8>`, as `collect` requires.
    unsafe {
        mlirOperationWriteBytecode(
            module.as_operation().to_raw(),
            Some(collect),
            (&raw mut out).cast::<c_void>(),
        );
    }
    out
}

/// Prints the module with every operation in the generic form.
pub(crate) fn print_generic(module: &Module<'_>, locations: bool) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::new();
    // SAFETY: the flags are used between their creation and their destruction; the operation is alive; `data` is a `Vec<u8>`,
    // as `collect` requires.
    unsafe {
        let flags = mlirOpPrintingFlagsCreate();
        mlirOpPrintingFlagsPrintGenericOpForm(flags);
        mlirOpPrintingFlagsEnableDebugInfo(flags, locations, false);
        let op = module.as_operation().to_raw();
        mlirOperationPrintWithFlags(op, flags, Some(collect), (&raw mut out).cast::<c_void>());
        mlirOpPrintingFlagsDestroy(flags);
    }
    out
}

/// The texts of MLIR's errors.
pub(crate) type Errors = Rc<RefCell<Vec<String>>>;

/// Collects the errors that MLIR reports in `context`, each with its notes. By default MLIR prints them.
///
/// melior's own handler panics on text that is truncated within a character.
pub(crate) fn collect_errors(context: &Context) -> Errors {
    let errors = Errors::default();
    // SAFETY: the context owns the handler and calls `release` once, when it is destroyed; until then the reference count of
    // `into_raw` keeps the vector alive.
    unsafe {
        mlirContextAttachDiagnosticHandler(
            context.to_raw(),
            Some(report),
            Rc::into_raw(Rc::clone(&errors)).cast_mut().cast::<c_void>(),
            Some(release),
        );
    }
    errors
}

unsafe extern "C" fn report(diagnostic: MlirDiagnostic, data: *mut c_void) -> MlirLogicalResult {
    let mut out: Vec<u8> = Vec::new();
    // SAFETY: the diagnostic is valid during the handler, and note indices are below the number of notes; `out` is a `Vec<u8>`,
    // as `collect` requires; `data` is the pointer that `collect_errors` passed.
    unsafe {
        if mlirDiagnosticGetSeverity(diagnostic) == SEVERITY_ERROR {
            mlirDiagnosticPrint(diagnostic, Some(collect), (&raw mut out).cast::<c_void>());
            for i in 0..mlirDiagnosticGetNumNotes(diagnostic) {
                out.extend_from_slice(b"; ");
                let note = mlirDiagnosticGetNote(diagnostic, i);
                mlirDiagnosticPrint(note, Some(collect), (&raw mut out).cast::<c_void>());
            }
            let errors = &*data.cast::<RefCell<Vec<String>>>();
            if let Ok(mut errors) = errors.try_borrow_mut() {
                errors.push(String::from_utf8_lossy(&out).into_owned());
            }
        }
    }
    MlirLogicalResult { value: 1 }
}

unsafe extern "C" fn release(data: *mut c_void) {
    // SAFETY: `data` is the pointer of `Rc::into_raw` in `collect_errors`, and it is released once.
    drop(unsafe { Rc::from_raw(data.cast::<RefCell<Vec<String>>>().cast_const()) });
}

/// Creates a `dense` attribute from raw bytes: all elements, or one for a splat. Returns `None` if the number of bytes does not
/// match the type.
///
/// `ty` must be a ranked tensor type with a static shape, whose elements MLIR stores in whole bytes.
pub(crate) fn dense_raw<'c>(ty: Type<'c>, bytes: &[u8]) -> Option<Attribute<'c>> {
    // SAFETY: the type is a static tensor type, as documented; MLIR copies the bytes, and returns null if their number is
    // wrong.
    unsafe {
        Attribute::from_option_raw(mlirDenseElementsAttrRawBufferGet(
            ty.to_raw(),
            bytes.len(),
            bytes.as_ptr().cast::<c_void>(),
        ))
    }
}

/// Creates a `dense` attribute of `i1`. Returns `None` if the number of values does not match the type.
///
/// `ty` must be a ranked tensor type with a static shape and the element type `i1`.
pub(crate) fn dense_bool<'c>(ty: Type<'c>, num_elements: usize, values: &[u8]) -> Option<Attribute<'c>> {
    if values.len() != num_elements {
        return None;
    }
    let values: Vec<i32> = values.iter().map(|&b| i32::from(b != 0)).collect();
    let count = isize::try_from(values.len()).ok()?;
    // SAFETY: the type is as documented and has `count` elements; MLIR copies the values.
    unsafe { Attribute::from_option_raw(mlirDenseElementsAttrBoolGet(ty.to_raw(), count, values.as_ptr())) }
}

/// Creates a fused location with or without metadata.
pub(crate) fn fused<'c>(
    context: &'c Context,
    locations: &[Location<'c>],
    metadata: Option<Attribute<'c>>,
) -> Location<'c> {
    let raw: Vec<_> = locations.iter().map(|l| l.to_raw()).collect();
    // SAFETY: the locations and the metadata belong to the context; null metadata means no metadata.
    unsafe {
        let metadata = metadata.map_or_else(|| mlirAttributeGetNull(), |m| m.to_raw());
        Location::from_raw(mlirLocationFusedGet(
            context.to_raw(),
            raw.len().cast_signed(),
            raw.as_ptr(),
            metadata,
        ))
    }
}

/// The location in a location attribute (`loc(...)`).
pub(crate) fn as_location<'c>(attribute: Attribute<'c>) -> Option<Location<'c>> {
    // SAFETY: the attribute is alive, and the first call checks that it is a location.
    unsafe {
        mlirAttributeIsALocation(attribute.to_raw())
            .then(|| Location::from_raw(mlirLocationFromAttribute(attribute.to_raw())))
    }
}
