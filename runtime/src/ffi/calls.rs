//! Functions of this process that compiled programs call: collectives between processes, for plugins that have none.
//!
//! A plugin knows the functions by name for the life of the process, and the launch that a call belongs to by the context that
//! the launch was made with. So nothing here is global, and several clients may have jobs of their own.
//!
//! A call does not wait. It copies its operands, leaves a future that says when its results are there, and returns; XLA keeps
//! the memory of operands and results until the future is done. See `crate::processes::exchange` for what happens in between.

use std::ffi::{CString, c_int};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use shardc_ir::DType;

use super::abi::{self, Structure};
use super::api::{Api, slice};
use super::xla_abi::{self as xla, CallFrame, Future, XlaApi, XlaError};
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;
use crate::processes::{ATTRIBUTE, COLLECTIVE_TARGET, FIRST_DEVICE_TARGET, Job};

/// The platform under which the CPU plugin looks functions up.
const PLATFORM: &str = "HOST";
/// The name of the type of what a launch's context holds.
const CONTEXT_TYPE: &str = "shardc.launch";

/// The number that XLA gave the type of what a launch's context holds; 0 before it is registered.
static CONTEXT_TYPE_ID: AtomicI64 = AtomicI64::new(0);

/// The launch that a call belongs to.
struct Launch {
    job: Arc<Job>,
    number: u64,
    first_device: u32,
}

/// A launch's context: lives until all devices of the launch are done.
pub(super) struct LaunchContext {
    ptr: *mut abi::ExecuteContext,
    api: Arc<Api>,
    launch: Box<Launch>,
}

// SAFETY: the C API lets any thread use the context, and what it holds is `Send + Sync`.
unsafe impl Send for LaunchContext {}
// SAFETY: as above.
unsafe impl Sync for LaunchContext {}

impl Drop for LaunchContext {
    fn drop(&mut self) {
        let mut destroy =
            abi::ExecuteContextDestroy { context: self.ptr, ..abi::ExecuteContextDestroy::empty() };
        // SAFETY: the context is this handle's, and the launch that used it is over.
        let _ = unsafe { self.api.call(&mut destroy) };
        self.launch.job.exchange.end(self.launch.number);
    }
}

impl LaunchContext {
    /// A context for a launch of a program, known by the number `program`, on devices of which this process has the one that is
    /// `first_device` first.
    pub(super) fn begin(
        api: &Arc<Api>,
        job: &Arc<Job>,
        program: u64,
        first_device: u32,
    ) -> Result<LaunchContext> {
        let number = job.exchange.begin(job, program)?;
        let launch = Box::new(Launch { job: job.clone(), number, first_device });
        let mut create = abi::ExecuteContextCreate::empty();
        // SAFETY: nothing but the result is passed.
        unsafe { api.call(&mut create) }?;
        let context = LaunchContext { ptr: create.context, api: api.clone(), launch };
        let mut add = xla::UserDataAdd {
            struct_size: size_of::<xla::UserDataAdd>(),
            extension_start: ptr::null_mut(),
            context: context.ptr,
            type_id: CONTEXT_TYPE_ID.load(Ordering::Acquire),
            data: (&raw const *context.launch).cast_mut().cast(),
            deleter: ptr::null(),
        };
        let extension = ffi_extension(api)?;
        // SAFETY: the extension is the plugin's for the life of the process.
        let function = unsafe { extension.as_ref() }.user_data_add.ok_or_else(|| lacking(api))?;
        // SAFETY: the context is alive, and its data lives in a box that goes after it.
        let error = unsafe { function(&raw mut add) };
        // SAFETY: the call has just made the error, if there is one, for its caller.
        unsafe { done(api, "PJRT_FFI_UserData_Add", error) }?;
        Ok(context)
    }

    pub(super) fn as_ptr(&self) -> *mut abi::ExecuteContext {
        self.ptr
    }
}

fn lacking(api: &Api) -> RuntimeError {
    let (major, minor) = api.version();
    RuntimeError::PluginLacks {
        path: api.path().to_owned(),
        version: format!("{major}.{minor}"),
        function: "PJRT_FFI_Extension",
    }
}

fn ffi_extension(api: &Api) -> Result<NonNull<xla::FfiExtension>> {
    let mut next = api.extensions().cast::<xla::ExtensionBase>();
    while let Some(extension) = NonNull::new(next) {
        // SAFETY: the plugin's list of extensions is constant; each begins with this base.
        let base = unsafe { extension.as_ref() };
        if base.kind == xla::PJRT_EXTENSION_FFI && base.struct_size >= size_of::<xla::FfiExtension>() {
            return Ok(extension.cast());
        }
        next = base.next;
    }
    Err(lacking(api))
}

/// The error of a function of the extension.
///
/// # Safety
///
/// `error` must be null or an error that the plugin gave to the caller, who gives it up.
unsafe fn done(api: &Api, call: &'static str, error: *mut abi::Error) -> Result<()> {
    match NonNull::new(error) {
        None => Ok(()),
        // SAFETY: the caller's promise.
        Some(error) => Err(unsafe { api.take_error(call, error) }),
    }
}

/// Makes the functions known to a plugin, once.
pub(crate) fn register(api: &Api) -> Result<()> {
    static REGISTERED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let extension = ffi_extension(api)?;
    if registered.contains(&extension.addr().get()) {
        return Ok(());
    }
    // SAFETY: the extension is the plugin's for the life of the process.
    let functions = unsafe { extension.as_ref() };
    if CONTEXT_TYPE_ID.load(Ordering::Acquire) != 0 {
        return Err(RuntimeError::Argument(
            "several plugins in one process cannot have collectives between processes".to_owned(),
        ));
    }
    let nothing = xla::TypeInfo { deleter: ptr::null(), serialize: ptr::null(), deserialize: ptr::null() };
    let mut ty = xla::TypeRegister {
        struct_size: size_of::<xla::TypeRegister>(),
        extension_start: ptr::null_mut(),
        type_name: CONTEXT_TYPE.as_ptr().cast(),
        type_name_size: CONTEXT_TYPE.len(),
        type_id: 0,
        type_info: &raw const nothing,
    };
    let function = functions.type_register.ok_or_else(|| lacking(api))?;
    // SAFETY: the structure is the function's, and what it points to outlives the call.
    unsafe { done(api, "PJRT_FFI_Type_Register", function(&raw mut ty)) }?;
    CONTEXT_TYPE_ID.store(ty.type_id, Ordering::Release);
    let function = functions.register_handler.ok_or_else(|| lacking(api))?;
    for (name, handler) in
        [(COLLECTIVE_TARGET, collective as xla::Handler), (FIRST_DEVICE_TARGET, first_device as xla::Handler)]
    {
        let mut arguments = xla::RegisterHandler {
            struct_size: size_of::<xla::RegisterHandler>(),
            target_name: name.as_ptr().cast(),
            target_name_size: name.len(),
            handler,
            platform_name: PLATFORM.as_ptr().cast(),
            platform_name_size: PLATFORM.len(),
            traits: 0,
        };
        // SAFETY: the structure is the function's; the handler is one for the life of the process.
        unsafe { done(api, "PJRT_FFI_Register_Handler", function(&raw mut arguments)) }?;
    }
    registered.push(extension.addr().get());
    Ok(())
}

/// A call of a program: what it passes, with the pointers looked into.
struct Incoming<'a> {
    frame: &'a mut CallFrame,
    api: &'a XlaApi,
}

impl<'a> Incoming<'a> {
    /// The call, or nothing where XLA only asks for which version of its API the function was made.
    ///
    /// # Safety
    ///
    /// `frame` must be a frame that XLA passes to a function that it calls.
    unsafe fn new(frame: *mut CallFrame) -> Option<Incoming<'a>> {
        // SAFETY: the caller's promise: the frame and the table live as long as the call.
        let (frame, api) = unsafe {
            let frame = &mut *frame;
            let api = &*frame.api;
            (frame, api)
        };
        // SAFETY: an extension of that kind has that layout, as far as its size says.
        if let Some(extension) = unsafe { frame.extension_start.as_ref() }
            && extension.kind == xla::XLA_EXTENSION_METADATA
        {
            // SAFETY: as above.
            let metadata =
                unsafe { &mut *(*frame.extension_start.cast::<xla::MetadataExtension>()).metadata };
            // The layouts used here are the same in all versions that have a table this long.
            metadata.version = api.version;
            metadata.traits = 0;
            return None;
        }
        Some(Incoming { frame, api })
    }

    /// An error for XLA.
    fn error(&self, error: &RuntimeError) -> *mut XlaError {
        xla_error(self.api, error)
    }

    /// The launch that the call belongs to.
    fn launch(&self) -> Result<&'a Launch> {
        let type_id = CONTEXT_TYPE_ID.load(Ordering::Acquire);
        let mut get = xla::ContextGet {
            struct_size: size_of::<xla::ContextGet>(),
            extension_start: ptr::null_mut(),
            context: self.frame.context,
            type_id: &raw const type_id,
            data: ptr::null_mut(),
        };
        call(self.api, self.api.execution_context_get, &raw mut get)?;
        // SAFETY: only `LaunchContext::begin` puts data of this type into a context, which outlives the launch's calls.
        unsafe { get.data.cast::<Launch>().as_ref() }.ok_or_else(|| protocol("a launch without a context"))
    }

    /// The buffers of arguments or of results.
    ///
    /// # Errors
    ///
    /// One of them is a token or the like.
    fn buffers(list: &xla::Buffers) -> Result<Vec<&'a xla::XlaBuffer>> {
        let size = usize::try_from(list.size).unwrap_or(0);
        // SAFETY: XLA gives as many kinds and pointers as it says, for as long as the call lasts.
        let (kinds, buffers) = unsafe { (slice(list.kinds, size), slice(list.buffers, size)) };
        if kinds.iter().any(|&kind| kind != xla::KIND_BUFFER) || buffers.len() != size {
            return Err(protocol("an operand or result that is no array"));
        }
        // SAFETY: what is of the kind of a buffer is one.
        let buffer = |&ptr: &*const xla::XlaBuffer| unsafe { ptr.as_ref() };
        buffers.iter().map(buffer).collect::<Option<_>>().ok_or_else(|| protocol("a null buffer"))
    }

    /// The text of the attribute that describes the collective.
    fn text(&self) -> Result<&'a str> {
        let list = &self.frame.attributes;
        let size = usize::try_from(list.size).unwrap_or(0);
        // SAFETY: XLA gives as many attributes as it says, for as long as the call lasts.
        let (kinds, names, values) =
            unsafe { (slice(list.kinds, size), slice(list.names, size), slice(list.values, size)) };
        for ((&kind, &name), &value) in kinds.iter().zip(names).zip(values) {
            // SAFETY: names are spans of bytes.
            let name = unsafe { name.as_ref().map(|name| slice(name.start, name.size)) };
            if name == Some(ATTRIBUTE.as_bytes()) && kind == xla::KIND_STRING {
                // SAFETY: the value of an attribute of text is a span of bytes.
                let value = unsafe { value.cast::<xla::ByteSpan>().as_ref() };
                // SAFETY: as above.
                let text = value.map(|value| unsafe { slice(value.start, value.size) });
                return text
                    .and_then(|text| std::str::from_utf8(text).ok())
                    .ok_or_else(|| protocol("an attribute that is no text"));
            }
        }
        Err(protocol("no description of the collective"))
    }
}

fn protocol(what: &str) -> RuntimeError {
    RuntimeError::Protocol { call: "XLA_FFI_Handler", what: what.to_owned() }
}

/// Calls a function of XLA's table; what it says of a failure is lost, because reading it helps nobody here.
fn call<T>(api: &XlaApi, function: xla::XlaFunction, arguments: *mut T) -> Result<()> {
    let function = function
        .filter(|_| api.struct_size >= size_of::<XlaApi>())
        .ok_or_else(|| protocol("a table of functions that is too short: the plugin is too old"))?;
    // SAFETY: callers pass the structure of the function, with pointers that outlive the call.
    let error = unsafe { function(arguments.cast()) };
    if error.is_null() { Ok(()) } else { Err(protocol("an error")) }
}

fn xla_error(api: &XlaApi, error: &RuntimeError) -> *mut XlaError {
    let is_lost = matches!(error, RuntimeError::ProcessLost { .. });
    let text = error.to_string().replace('\0', " ");
    let text = CString::new(text).unwrap_or_default();
    let mut create = xla::ErrorCreate {
        struct_size: size_of::<xla::ErrorCreate>(),
        extension_start: ptr::null_mut(),
        message: text.as_ptr(),
        code: if is_lost { xla::CODE_UNAVAILABLE } else { xla::CODE_INTERNAL },
    };
    match api.error_create {
        // SAFETY: the structure is the function's, which copies the message.
        Some(function) => unsafe { function((&raw mut create).cast()) },
        None => ptr::null_mut(),
    }
}

/// The results of a call that are still to come: told that they are there, or that there are none, exactly once.
struct Pending {
    api: *const XlaApi,
    future: *mut Future,
    /// Where results go, with their sizes in bytes.
    results: Vec<(*mut u8, usize)>,
    is_done: bool,
}

// SAFETY: XLA lets any thread complete a future, and leaves the memory of results alone until then.
unsafe impl Send for Pending {}

impl Pending {
    fn finish(mut self, results: Result<Vec<HostArray>>) {
        let written = results.and_then(|arrays| self.write(&arrays));
        self.tell(written);
    }

    fn write(&mut self, arrays: &[HostArray]) -> Result<()> {
        let sizes = arrays.iter().map(|array| array.data.len());
        if !sizes.eq(self.results.iter().map(|(_, size)| *size)) {
            return Err(protocol("results of other sizes than the collective gives"));
        }
        for (array, &(to, size)) in arrays.iter().zip(&self.results) {
            if size > 0 {
                // SAFETY: the memory is that of the result, `size` bytes long, and nobody else uses it until the
                // future is done.
                unsafe { ptr::copy_nonoverlapping(array.data.as_ptr(), to, size) };
            }
        }
        Ok(())
    }

    fn tell(&mut self, outcome: Result<()>) {
        self.is_done = true;
        // SAFETY: XLA's table is constant, for the life of the process.
        let api = unsafe { &*self.api };
        let told = match outcome {
            Ok(()) => {
                let mut set = xla::FutureCall {
                    struct_size: size_of::<xla::FutureCall>(),
                    extension_start: ptr::null_mut(),
                    future: self.future,
                };
                call(api, api.future_set_available, &raw mut set)
            }
            Err(error) => {
                let mut set = xla::FutureSetError {
                    struct_size: size_of::<xla::FutureSetError>(),
                    extension_start: ptr::null_mut(),
                    future: self.future,
                    error: xla_error(api, &error),
                };
                call(api, api.future_set_error, &raw mut set)
            }
        };
        // A future that cannot be completed leaves the device waiting, which the launch's time limit ends.
        let _ = told;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_done {
            self.tell(Err(protocol("a collective that was given up")));
        }
    }
}

/// A dense row-major array as XLA has it in memory.
fn array(buffer: &xla::XlaBuffer, dtype: DType) -> Result<HostArray> {
    let shape = dims(buffer)?;
    let size = HostArray::byte_size(dtype, &shape)?;
    // SAFETY: an operand has as many bytes as its type and shape ask for, and stays as it is while the call lasts.
    let data = unsafe { slice(buffer.data.cast_const(), size) };
    HostArray::new(dtype, &shape, data.to_vec())
}

fn dims(buffer: &xla::XlaBuffer) -> Result<Vec<usize>> {
    let rank = usize::try_from(buffer.rank).unwrap_or(0);
    // SAFETY: XLA gives as many sizes as the rank says.
    let dims = unsafe { slice(buffer.dims, rank) };
    let size = |&n: &i64| usize::try_from(n).map_err(|_| protocol("a dimension below zero"));
    dims.iter().map(size).collect()
}

/// The element type with this number in XLA, where collectives between processes take it.
fn dtype_of(number: c_int) -> Result<DType> {
    Ok(match number {
        1 => DType::I1,
        2 => DType::I8,
        3 => DType::I16,
        4 => DType::I32,
        5 => DType::I64,
        6 => DType::UI8,
        7 => DType::UI16,
        8 => DType::UI32,
        9 => DType::UI64,
        10 => DType::F16,
        11 => DType::F32,
        12 => DType::F64,
        15 => DType::C64,
        16 => DType::BF16,
        18 => DType::C128,
        19 => DType::F8E5M2,
        20 => DType::F8E4M3FN,
        23 => DType::F8E4M3B11FNUZ,
        24 => DType::F8E5M2FNUZ,
        25 => DType::F8E4M3FNUZ,
        28 => DType::F8E4M3,
        29 => DType::F8E3M4,
        33 => DType::F8E8M0FNU,
        _ => {
            return Err(RuntimeError::ElementType {
                what: "a collective between processes",
                dtype: format!("number {number}"),
            });
        }
    })
}

/// What [`COLLECTIVE_TARGET`] calls.
///
/// # Safety
///
/// `frame` must be a frame that XLA passes to a function that it calls.
unsafe extern "C" fn collective(frame: *mut CallFrame) -> *mut XlaError {
    // SAFETY: the caller's promise.
    let Some(incoming) = (unsafe { Incoming::new(frame) }) else { return ptr::null_mut() };
    match begin_collective(&incoming) {
        Ok(future) => {
            incoming.frame.future = future;
            ptr::null_mut()
        }
        Err(error) => incoming.error(&error),
    }
}

fn begin_collective(incoming: &Incoming<'_>) -> Result<*mut Future> {
    if incoming.frame.stage != xla::STAGE_EXECUTE {
        return Err(protocol("a call at another stage than that of execution"));
    }
    let launch = incoming.launch()?;
    let arguments = Incoming::buffers(&incoming.frame.arguments)?;
    let results = Incoming::buffers(&incoming.frame.results)?;
    let Some((device, operands)) = arguments.split_last() else {
        return Err(protocol("a collective without operands"));
    };
    let device: Option<Vec<u32>> = array(device, dtype_of(device.dtype)?)?.to_vec();
    let Some(&[device]) = device.as_deref() else { return Err(protocol("no number of a device")) };
    let operands =
        operands.iter().map(|buffer| array(buffer, dtype_of(buffer.dtype)?)).collect::<Result<Vec<_>>>()?;
    let place = |buffer: &&xla::XlaBuffer| {
        Ok((buffer.data, HostArray::byte_size(dtype_of(buffer.dtype)?, &dims(buffer)?)?))
    };
    let results = results.iter().map(place).collect::<Result<Vec<_>>>()?;
    let text = incoming.text()?;
    let mut create = xla::FutureCall {
        struct_size: size_of::<xla::FutureCall>(),
        extension_start: ptr::null_mut(),
        future: ptr::null_mut(),
    };
    call(incoming.api, incoming.api.future_create, &raw mut create)?;
    let future = create.future;
    let pending = Pending { api: incoming.api, future, results, is_done: false };
    let answer = Box::new(move |results| pending.finish(results));
    launch.job.exchange.come(&launch.job, launch.number, text, device as usize, operands, answer);
    Ok(future)
}

/// What [`FIRST_DEVICE_TARGET`] calls.
///
/// # Safety
///
/// `frame` must be a frame that XLA passes to a function that it calls.
unsafe extern "C" fn first_device(frame: *mut CallFrame) -> *mut XlaError {
    // SAFETY: the caller's promise.
    let Some(incoming) = (unsafe { Incoming::new(frame) }) else { return ptr::null_mut() };
    let write = || {
        let launch = incoming.launch()?;
        let results = Incoming::buffers(&incoming.frame.results)?;
        let &[result] = results.as_slice() else { return Err(protocol("not one result")) };
        if dtype_of(result.dtype)? != DType::UI32 || result.rank != 0 {
            return Err(protocol("a result that is no number"));
        }
        // SAFETY: the result is a scalar of this type.
        unsafe { result.data.cast::<u32>().write_unaligned(launch.first_device) };
        Ok(())
    };
    match write() {
        Ok(()) => ptr::null_mut(),
        Err(error) => incoming.error(&error),
    }
}
