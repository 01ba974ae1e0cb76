//! Ranges of bytes, and buffers.

use super::{borrow, free};
use crate::failure::Failure;
use crate::text::Text;

/// A range of bytes. Texts are UTF-8. The pointer may be NULL if the size is 0.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Bytes {
    /// The first byte.
    pub data: *const u8,
    /// The number of bytes.
    pub size: usize,
}

/// Bytes that belong to the caller.
#[derive(Debug)]
pub struct Buffer(pub(super) Text);

impl Bytes {
    /// No bytes.
    pub(super) const NONE: Bytes = Bytes { data: std::ptr::null(), size: 0 };

    /// The bytes of an object. They are valid until it is freed.
    pub(super) fn of(text: &Text) -> Bytes {
        let bytes = text.bytes();
        Bytes { data: bytes.as_ptr(), size: bytes.len() }
    }

    /// Borrows the bytes.
    ///
    /// # Safety
    /// The range is readable and does not change while the result is used.
    pub(super) unsafe fn get<'a>(self) -> &'a [u8] {
        if self.data.is_null() || self.size == 0 {
            return &[];
        }
        // SAFETY: the caller passes a readable range.
        unsafe { std::slice::from_raw_parts(self.data, self.size) }
    }

    /// Borrows the text.
    ///
    /// # Safety
    /// As for [`Bytes::get`].
    pub(super) unsafe fn text<'a>(self, what: &str) -> Result<&'a str, Failure> {
        // SAFETY: the caller passes a readable range.
        let bytes = unsafe { self.get() };
        std::str::from_utf8(bytes).map_err(|_| Failure::argument(&format!("{what} is not UTF-8")))
    }
}

/// The version of shardc: "0.1.0".
#[unsafe(no_mangle)]
pub extern "C" fn shardc_version() -> Bytes {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    Bytes { data: VERSION.as_ptr(), size: VERSION.len() - 1 }
}

/// The bytes of a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_buffer_bytes(buffer: *const Buffer) -> Bytes {
    // SAFETY: as the header requires of callers.
    unsafe { borrow(buffer, "the buffer") }.map_or(Bytes::NONE, |buffer| Bytes::of(&buffer.0))
}

/// Frees a buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn shardc_buffer_free(buffer: *mut Buffer) {
    // SAFETY: as the header requires of callers.
    unsafe { free(buffer) }
}
