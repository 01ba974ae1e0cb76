//! PJRT callbacks by which a plugin uses the key-value store of a job. The plugins of different processes find each other through this
//! store.

use std::ffi::{c_char, c_int, c_void};
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::abi::{self, KeyValueGet as Get, KeyValuePut as Put, KeyValueTryGet as TryGet, MakeError};
use super::api::slice;
use crate::processes::Job;

/// Status codes of `absl::StatusCode`, which callbacks return.
const DEADLINE_EXCEEDED: c_int = 4;
const NOT_FOUND: c_int = 5;
const UNAVAILABLE: c_int = 14;

/// Returns the pointer to a job that the plugin passes to the callbacks. The plugin may call them from its own threads at any time, even
/// after its client is destroyed, so a job that was passed to a plugin is never freed. A list keeps one reference to each such job, however
/// many clients the job has.
pub(super) fn user_arg(job: &Arc<Job>) -> *mut c_void {
    static PASSED: Mutex<Vec<Arc<Job>>> = Mutex::new(Vec::new());
    let mut passed = PASSED.lock().unwrap_or_else(PoisonError::into_inner);
    if !passed.iter().any(|known| Arc::ptr_eq(known, job)) {
        passed.push(job.clone());
    }
    Arc::as_ptr(job).cast_mut().cast()
}

/// Returns the job to which the argument of a callback points.
///
/// # Safety
///
/// `user_arg` must come from [`user_arg`].
unsafe fn job<'a>(user_arg: *mut c_void) -> &'a Job {
    // SAFETY: the caller upholds the conditions in `# Safety`; the job is never freed.
    unsafe { &*user_arg.cast::<Job>() }
}

/// Creates an error of the plugin; null if the plugin has no function for it.
///
/// # Safety
///
/// `make_error` must point to the function that the plugin passes to its callbacks, or be null.
unsafe fn error(make_error: *const MakeError, code: c_int, message: &str) -> *mut abi::Error {
    // SAFETY: the caller upholds the conditions in `# Safety`; the message is copied.
    unsafe {
        match make_error.as_ref() {
            Some(make) => make(code, message.as_ptr().cast(), message.len()),
            None => ptr::null_mut(),
        }
    }
}

/// Copies a value to memory that [`free`] can free, because the size of the value is stored before it.
fn give(value: &[u8]) -> *mut c_char {
    let mut memory = Vec::with_capacity(8 + value.len());
    memory.extend_from_slice(&(value.len() as u64).to_le_bytes());
    memory.extend_from_slice(value);
    let start = Box::into_raw(memory.into_boxed_slice()).cast::<u8>();
    // SAFETY: the allocation is eight bytes longer than the value.
    unsafe { start.add(8).cast() }
}

/// Frees a value that [`give`] allocated.
///
/// # Safety
///
/// `value` must come from [`give`], and be freed once.
unsafe extern "C" fn free(value: *mut c_char) {
    // SAFETY: the size is in the eight bytes before the value, and both were allocated as one boxed slice.
    unsafe {
        let start = value.cast::<u8>().sub(8);
        let size = u64::from_le_bytes(start.cast::<[u8; 8]>().read()) as usize;
        drop(Box::from_raw(ptr::slice_from_raw_parts_mut(start, 8 + size)));
    }
}

/// `PJRT_KeyValueGetCallback`: waits until a key has a value, and returns the value.
///
/// # Safety
///
/// The plugin passes its own structure, with the `user_arg` of its client.
pub(super) unsafe extern "C" fn get(arguments: *mut Get) -> *mut abi::Error {
    // SAFETY: the caller upholds the conditions in `# Safety`.
    let (arguments, job, key) = unsafe {
        let arguments = &mut *arguments;
        let key = slice(arguments.key.cast::<u8>(), arguments.key_size);
        let job = job(arguments.user_arg);
        (arguments, job, key)
    };
    let patience = Duration::from_millis(u64::try_from(arguments.timeout_in_ms).unwrap_or(0));
    let (code, message) = match job.get(key, Some(patience)) {
        Ok(Some(value)) => {
            arguments.value = give(&value);
            arguments.value_size = value.len();
            arguments.deleter = Some(free);
            return ptr::null_mut();
        }
        Ok(None) => (DEADLINE_EXCEEDED, format!("no value of {:?}", String::from_utf8_lossy(key))),
        Err(error) => (UNAVAILABLE, error.to_string()),
    };
    // SAFETY: the plugin passes this function for its callbacks.
    unsafe { error(arguments.make_error, code, &message) }
}

/// `PJRT_KeyValueTryGetCallback`: returns the value of a key, or an error if it has none.
///
/// # Safety
///
/// The plugin passes its own structure, with the `user_arg` of its client.
pub(super) unsafe extern "C" fn try_get(arguments: *mut TryGet) -> *mut abi::Error {
    // SAFETY: the caller upholds the conditions in `# Safety`.
    let (arguments, job, key) = unsafe {
        let arguments = &mut *arguments;
        let key = slice(arguments.key.cast::<u8>(), arguments.key_size);
        let job = job(arguments.user_arg);
        (arguments, job, key)
    };
    let (code, message) = match job.get(key, None) {
        Ok(Some(value)) => {
            arguments.value = give(&value);
            arguments.value_size = value.len();
            arguments.deleter = Some(free);
            return ptr::null_mut();
        }
        Ok(None) => (NOT_FOUND, format!("no value of {:?}", String::from_utf8_lossy(key))),
        Err(error) => (UNAVAILABLE, error.to_string()),
    };
    // SAFETY: the plugin passes this function for its callbacks.
    unsafe { error(arguments.make_error, code, &message) }
}

/// `PJRT_KeyValuePutCallback`: sets the value of a key.
///
/// # Safety
///
/// The plugin passes its own structure, with the `user_arg` of its client.
pub(super) unsafe extern "C" fn put(arguments: *mut Put) -> *mut abi::Error {
    // SAFETY: the caller upholds the conditions in `# Safety`.
    let (arguments, job, key, value) = unsafe {
        let arguments = &*arguments;
        let key = slice(arguments.key.cast::<u8>(), arguments.key_size);
        let value = slice(arguments.value.cast::<u8>(), arguments.value_size);
        (arguments, job(arguments.user_arg), key, value)
    };
    match job.put(key, value) {
        Ok(()) => ptr::null_mut(),
        // SAFETY: the plugin passes this function for its callbacks.
        Err(lost) => unsafe { error(arguments.make_error, UNAVAILABLE, &lost.to_string()) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::processes::{ProcessOptions, Processes, Secret};

    /// Creates a fake error of a plugin: a pointer whose address is the error code.
    unsafe extern "C" fn make_error(code: c_int, _: *const c_char, _: usize) -> *mut abi::Error {
        ptr::without_provenance_mut(code as usize)
    }

    #[test]
    fn a_plugin_sets_and_gets_values() {
        let secret = Secret::new("a secret that only tests know").unwrap();
        let processes = Processes::connect(ProcessOptions::new(0, 1, "127.0.0.1:0", secret)).unwrap();
        let user_arg = user_arg(processes.job());
        assert_eq!(super::user_arg(processes.job()), user_arg, "a second client keeps nothing more");
        let make: MakeError = make_error;
        let (key, value) = ("key", b"\0value");
        let mut look_up = TryGet {
            struct_size: size_of::<TryGet>(),
            extension_start: ptr::null_mut(),
            key: key.as_ptr().cast(),
            key_size: key.len(),
            make_error: &raw const make,
            user_arg,
            value: ptr::null_mut(),
            value_size: 0,
            deleter: None,
        };
        // SAFETY: the structures are those of the functions, and everything that they point to is alive.
        unsafe {
            assert_eq!(try_get(&raw mut look_up).addr(), NOT_FOUND as usize);
            let mut set = Put {
                struct_size: size_of::<Put>(),
                extension_start: ptr::null_mut(),
                key: key.as_ptr().cast(),
                key_size: key.len(),
                value: value.as_ptr().cast(),
                value_size: value.len(),
                make_error: &raw const make,
                user_arg,
            };
            assert!(put(&raw mut set).is_null());
            assert!(try_get(&raw mut look_up).is_null());
            assert_eq!(slice(look_up.value.cast::<u8>(), look_up.value_size), value);
            look_up.deleter.unwrap()(look_up.value);
            let missing = "missing";
            let mut wait = Get {
                struct_size: size_of::<Get>(),
                extension_start: ptr::null_mut(),
                key: missing.as_ptr().cast(),
                key_size: missing.len(),
                timeout_in_ms: 10,
                make_error: &raw const make,
                user_arg,
                value: ptr::null_mut(),
                value_size: 0,
                deleter: None,
            };
            assert_eq!(get(&raw mut wait).addr(), DEADLINE_EXCEEDED as usize);
        }
    }

    #[test]
    fn layouts_are_those_of_the_c_header() {
        assert_eq!((size_of::<Get>(), size_of::<TryGet>(), size_of::<Put>()), (80, 72, 64));
    }
}
