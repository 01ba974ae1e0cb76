//! A loaded plugin: its table of functions, the checked call of a function, and its errors.

use std::ffi::{c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::ptr::{self, NonNull};

use libloading::{Library, Symbol};

use super::abi::{self, ApiTable, Call, Structure};
use crate::error::{PjrtCode, Result, RuntimeError};

pub(crate) use super::abi::FUNCTIONS;

/// The major version of the C API that `abi` declares. Another major version may change any layout.
const MAJOR_VERSION: c_int = 0;

/// A loaded plugin: its table of functions. The plugin stays loaded for the life of the process.
pub(crate) struct Api {
    table: NonNull<ApiTable>,
    path: PathBuf,
}

// SAFETY: the table is constant memory of a library that is never unloaded, and the C API lets any thread call any
// function of it.
unsafe impl Send for Api {}
// SAFETY: the table is constant memory of a library that is never unloaded, so any thread may read it.
unsafe impl Sync for Api {}

/// The functions that every plugin must have: without them errors cannot be read and events cannot be awaited.
const REQUIRED: &[(usize, &str)] = &[
    (abi::ErrorDestroy::SLOT, abi::ErrorDestroy::NAME),
    (abi::ErrorMessage::SLOT, abi::ErrorMessage::NAME),
    (abi::ErrorGetCode::SLOT, abi::ErrorGetCode::NAME),
    (abi::EventDestroy::SLOT, abi::EventDestroy::NAME),
    (abi::EventAwait::SLOT, abi::EventAwait::NAME),
    (abi::EventOnReady::SLOT, abi::EventOnReady::NAME),
];

/// The signature of all functions of the table, except the two functions with the signature [`VoidFunction`].
type Function = unsafe extern "C" fn(*mut c_void) -> *mut abi::Error;
/// The signature of `PJRT_Error_Destroy` and `PJRT_Error_Message`.
type VoidFunction = unsafe extern "C" fn(*mut c_void);

impl Api {
    /// Loads the library and initializes the plugin.
    pub(crate) fn load(path: &Path) -> Result<Api> {
        let fail = |reason: String| RuntimeError::PluginLoad { path: path.to_owned(), reason };
        // SAFETY: loading runs the library's initializers. The user named the file, or a lookup found it under a plugin's well-known name,
        // so the user requests that it run.
        let library = unsafe { Library::new(path) }.map_err(|e| fail(with_source(&e)))?;
        // SAFETY: every PJRT plugin exports this function with this signature.
        let entry: Symbol<'_, unsafe extern "C" fn() -> *const ApiTable> =
            unsafe { library.get(b"GetPjrtApi\0") }
                .map_err(|e| fail(format!("it is not a PJRT plugin: {}", with_source(&e))))?;
        // SAFETY: the function takes nothing and returns a table that lives as long as the library.
        let table = unsafe { entry() };
        // The plugin starts threads that are never joined: unloading the library would unmap the code that they run.
        std::mem::forget(library);
        // SAFETY: the plugin returned this table, which lives as long as the library, which is never unloaded.
        let api = unsafe { Api::of(table, path) }?;
        // SAFETY: no pointers are passed.
        unsafe { api.call(&mut abi::PluginInitialize::empty()) }.map_err(|e| fail(e.to_string()))?;
        Ok(api)
    }

    /// Returns the plugin with this table, if the table has all required functions.
    ///
    /// # Safety
    ///
    /// The pointer must be null or point to a table of the length in its first field, which lives as long as the plugin is used.
    unsafe fn of(table: *const ApiTable, path: &Path) -> Result<Api> {
        let fail = |reason: String| RuntimeError::PluginLoad { path: path.to_owned(), reason };
        let table =
            NonNull::new(table.cast_mut()).ok_or_else(|| fail("its GetPjrtApi returned null".to_owned()))?;
        // SAFETY: the table begins with its size in every version.
        let size = unsafe { *table.as_ptr().cast::<usize>() };
        if size < size_of::<ApiTable>() {
            return Err(fail(format!(
                "its table of functions has {size} bytes, fewer than shardc needs ({})",
                size_of::<ApiTable>()
            )));
        }
        let api = Api { table, path: path.to_owned() };
        let (major, minor) = api.version();
        if major != MAJOR_VERSION {
            return Err(fail(format!(
                "its C API has version {major}.{minor}, but shardc supports {MAJOR_VERSION}.x"
            )));
        }
        let lacking: Vec<&str> =
            REQUIRED.iter().filter(|(slot, _)| !api.has(*slot)).map(|(_, name)| *name).collect();
        if !lacking.is_empty() {
            return Err(fail(format!("its C API {major}.{minor} has no {}", lacking.join(", "))));
        }
        Ok(api)
    }

    /// The path of the plugin's file.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The major and minor version of the plugin's C API.
    pub(crate) fn version(&self) -> (i32, i32) {
        // SAFETY: the table lives as long as the process, and its head is the same in every version of the API.
        let table = unsafe { self.table.as_ref() };
        (table.major_version, table.minor_version)
    }

    /// Returns the first element of the linked list of the plugin's extensions; null if it has none. The list never changes.
    pub(super) fn extensions(&self) -> *mut c_void {
        // SAFETY: the table lives as long as the process, and its head is the same in every version of the API.
        unsafe { self.table.as_ref() }.extension_start
    }

    /// Returns whether the plugin's table has the function with this index.
    pub(crate) fn has(&self, slot: usize) -> bool {
        !self.slot(slot).is_null()
    }

    /// Returns the address of the function with this index; null if the table does not have it.
    fn slot(&self, slot: usize) -> *const c_void {
        // SAFETY: the table lives as long as the process, and its head is the same in every version of the API.
        let size = unsafe { self.table.as_ref() }.struct_size;
        let offset = size_of::<ApiTable>() + slot * size_of::<*const c_void>();
        if offset + size_of::<*const c_void>() > size {
            return ptr::null();
        }
        // SAFETY: the table is `size` bytes long according to its size field, and the pointer is within it and aligned.
        unsafe { *self.table.as_ptr().cast::<u8>().add(offset).cast::<*const c_void>() }
    }

    /// Calls the function whose argument structure is `C`.
    ///
    /// # Errors
    ///
    /// The plugin lacks the function, or the function failed.
    ///
    /// # Safety
    ///
    /// The pointers in `arguments` must satisfy the conditions of the function in the C header.
    pub(super) unsafe fn call<C: Call>(&self, arguments: &mut C) -> Result<()> {
        let function = self.slot(C::SLOT);
        if function.is_null() {
            let (major, minor) = self.version();
            return Err(RuntimeError::PluginLacks {
                path: self.path.clone(),
                version: format!("{major}.{minor}"),
                function: C::NAME,
            });
        }
        // SAFETY: every function of the table except the two that `call_void` calls has this signature.
        let function: Function = unsafe { std::mem::transmute(function) };
        // SAFETY: this is the argument structure of the function (`Call`), and the caller guarantees the pointers in it.
        let error = unsafe { function(ptr::from_mut(arguments).cast()) };
        match NonNull::new(error) {
            None => Ok(()),
            // SAFETY: the call has just created this error for its caller.
            Some(error) => Err(unsafe { self.take_error(C::NAME, error) }),
        }
    }

    /// Calls one of the two functions of the table that return nothing ([`VoidFunction`]).
    ///
    /// # Safety
    ///
    /// The conditions of [`Api::call`] hold, and the function must be one that returns nothing.
    unsafe fn call_void<C: Call>(&self, arguments: &mut C) {
        let function = self.slot(C::SLOT);
        if !function.is_null() {
            // SAFETY: the caller guarantees that the function returns nothing.
            let function: VoidFunction = unsafe { std::mem::transmute(function) };
            // SAFETY: this is the argument structure of the function (`Call`), and the caller guarantees the pointers in it.
            unsafe { function(ptr::from_mut(arguments).cast()) };
        }
    }

    /// Converts the C error of a call to [`RuntimeError`] and frees it.
    ///
    /// # Safety
    ///
    /// The plugin must have given the error to the caller, who gives up ownership.
    pub(super) unsafe fn take_error(&self, call: &'static str, error: NonNull<abi::Error>) -> RuntimeError {
        let mut message = abi::ErrorMessage { error: error.as_ptr(), ..abi::ErrorMessage::empty() };
        let mut code = abi::ErrorGetCode { error: error.as_ptr(), code: 2, ..abi::ErrorGetCode::empty() };
        // SAFETY: the error is alive until it is destroyed below, and the message belongs to it.
        let text = unsafe {
            self.call_void(&mut message);
            text(message.message, message.message_size)
        };
        // SAFETY: every loaded plugin has `PJRT_Error_GetCode`, which has the signature [`Function`]. The error is alive. If this call
        // fails, its own error is ignored.
        unsafe {
            let function: Function = std::mem::transmute(self.slot(abi::ErrorGetCode::SLOT));
            function(ptr::from_mut(&mut code).cast());
        }
        let mut destroy = abi::ErrorDestroy { error: error.as_ptr(), ..abi::ErrorDestroy::empty() };
        // SAFETY: the error came from the plugin, is destroyed once, and is not used afterwards.
        unsafe { self.call_void(&mut destroy) };
        RuntimeError::of_call(call, PjrtCode(code.code), text)
    }

    /// Waits for an event and destroys it. A null event counts as ready.
    ///
    /// # Safety
    ///
    /// The event must be null or owned by the caller, who gives up ownership.
    pub(super) unsafe fn finish_event(&self, event: *mut abi::Event) -> Result<()> {
        if event.is_null() {
            return Ok(());
        }
        // SAFETY: the event is alive, and destroyed once.
        unsafe {
            let waited = self.call(&mut abi::EventAwait { event, ..abi::EventAwait::empty() });
            let destroyed = self.call(&mut abi::EventDestroy { event, ..abi::EventDestroy::empty() });
            waited.and(destroyed)
        }
    }
}

/// Returns the message of an error of the dynamic loader, or the system's message if the error contains one.
fn with_source(error: &libloading::Error) -> String {
    use std::error::Error as _;
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}

/// Copies a C string of known length, replacing invalid UTF-8.
///
/// # Safety
///
/// `start` must be null or point to `size` readable bytes.
pub(super) unsafe fn text(start: *const c_char, size: usize) -> String {
    // SAFETY: the caller upholds the conditions in `# Safety`.
    String::from_utf8_lossy(unsafe { slice(start.cast::<u8>(), size) }).into_owned()
}

/// Returns the slice with this pointer and length in C; an empty slice if the pointer is null.
///
/// # Safety
///
/// `start` must be null or point to `size` valid elements that live for `'a` and are not changed.
pub(super) unsafe fn slice<'a, T>(start: *const T, size: usize) -> &'a [T] {
    if start.is_null() || size == 0 {
        return &[];
    }
    // SAFETY: the caller upholds the conditions in `# Safety`.
    unsafe { std::slice::from_raw_parts(start, size) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words of a table with `slots` functions. All are non-null, except the function with the index `missing`.
    fn table(slots: usize, missing: Option<usize>) -> Vec<usize> {
        let head = size_of::<ApiTable>() / size_of::<usize>();
        let mut words = vec![0usize; head + slots];
        words[0] = words.len() * size_of::<usize>();
        for slot in (0..slots).filter(|slot| Some(*slot) != missing) {
            words[head + slot] = 1;
        }
        words
    }

    fn refused(words: &[usize]) -> String {
        // SAFETY: the first word is the table's length, and the words outlive the call.
        match unsafe { Api::of(words.as_ptr().cast(), Path::new("x.so")) } {
            Ok(_) => String::new(),
            Err(error) => {
                assert_eq!(error.code(), "RT0102");
                error.to_string()
            }
        }
    }

    #[test]
    fn a_plugin_without_events_is_refused() {
        assert_eq!(refused(&table(10, None)), "");
        assert!(refused(&table(10, Some(8))).ends_with("has no PJRT_Event_Await"));
        assert!(refused(&table(8, None)).ends_with("has no PJRT_Event_Await, PJRT_Event_OnReady"));
        assert!(refused(&table(10, Some(2))).contains("PJRT_Error_GetCode"));
    }

    #[test]
    fn a_table_that_is_too_short_is_not_read() {
        assert!(refused(&[8]).contains("8 bytes"), "{}", refused(&[8]));
        // SAFETY: null is allowed.
        let null = unsafe { Api::of(ptr::null(), Path::new("x.so")) };
        assert!(null.is_err_and(|e| e.to_string().contains("null")));
    }
}
