//! The functions and structs of `include/shardc.h`. The order of modules and of items is that of the header.
//!
//! Every pointer of a caller is used as the header documents it: objects come from a function of this library and are not freed yet, and a
//! `shardc_bytes` is a readable range or empty. No other code of the crate is `unsafe`.

#![allow(unsafe_code)]

mod bytes;
mod diagnostics;
mod modules;
mod options;
mod partitioned;
mod reports;
mod rules;

use crate::failure::Failure;

/// Returns an object to C.
fn give<T>(object: T) -> *mut T {
    Box::into_raw(Box::new(object))
}

/// Frees an object, or does nothing if it is null.
///
/// # Safety
/// The pointer is null, or [`give`] returned it and it has not been freed.
unsafe fn free<T>(object: *mut T) {
    if !object.is_null() {
        // SAFETY: `give` returned the pointer, and the caller frees it once.
        drop(unsafe { Box::from_raw(object) });
    }
}

/// Borrows an object of a caller.
///
/// # Safety
/// The pointer is null, or points to an object that is not freed or changed while the result is used.
unsafe fn borrow<'a, T>(object: *const T, what: &str) -> Result<&'a T, Failure> {
    // SAFETY: the caller passes null or a live object.
    unsafe { object.as_ref() }.ok_or_else(|| Failure::argument(&format!("{what} is NULL")))
}

/// Writes the object that `work` makes to `out`; returns the error as C sees it.
///
/// # Safety
/// `out` is null or can be written.
unsafe fn make<T>(out: *mut *mut T, work: impl FnOnce() -> Result<T, Failure>) -> *mut Failure {
    if out.is_null() {
        return give(Failure::argument("the last argument, to which the result is written, is NULL"));
    }
    match work() {
        Ok(object) => {
            // SAFETY: the caller passes a pointer that can be written, which was checked not to be null.
            unsafe { out.write(give(object)) };
            std::ptr::null_mut()
        }
        Err(failure) => give(failure),
    }
}

/// Copies a struct of a caller whose first member is its size in bytes. Members that the caller does not know are zero, and members that this
/// library does not know are ignored.
///
/// # Safety
/// The pointer is null, or points to as many readable bytes as its first member says. All bits zero is a value of `T`, and so is every struct
/// of C that the header allows.
unsafe fn versioned<T>(given: *const T) -> Option<T> {
    if given.is_null() {
        return None;
    }
    // SAFETY: every versioned struct begins with its size.
    let size = unsafe { given.cast::<usize>().read() }.min(size_of::<T>());
    let mut own = std::mem::MaybeUninit::<T>::zeroed();
    // SAFETY: `size` bytes can be read from the caller's struct and written to this one; the rest is zero, and zero is a value of every member.
    unsafe {
        std::ptr::copy_nonoverlapping(given.cast::<u8>(), own.as_mut_ptr().cast::<u8>(), size);
        Some(own.assume_init())
    }
}

/// Copies `own` to a struct of a caller, as many bytes as its first member says, and keeps that member.
///
/// # Safety
/// The pointer is null, or points to as many bytes as its first member says, which can be written.
unsafe fn fill<T>(given: *mut T, own: &T) -> bool {
    if given.is_null() {
        return false;
    }
    let header = size_of::<usize>();
    // SAFETY: every versioned struct begins with its size, and so many bytes can be written.
    unsafe {
        let size = given.cast::<usize>().read().min(size_of::<T>());
        let from = std::ptr::from_ref(own).cast::<u8>();
        if size > header {
            std::ptr::copy_nonoverlapping(from.add(header), given.cast::<u8>().add(header), size - header);
        }
    }
    true
}

/// Borrows an array of a caller.
///
/// # Safety
/// The pointer is null, or points to `count` readable values that do not change while the result is used.
unsafe fn array<'a, T>(first: *const T, count: usize, what: &str) -> Result<&'a [T], Failure> {
    match (first.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Failure::argument(&format!("{what} is NULL, but has {count} elements"))),
        // SAFETY: the caller passes `count` values.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
    }
}
