//! Functions of this process that compiled programs call as custom calls. They implement cross-process collectives, for plugins that do not
//! implement such collectives.
//!
//! These functions are registered with a plugin by name, for the life of the process. A call finds the job and the launch to which it
//! belongs through the execution context of the launch. So there is no global state, and each client can have its own job.
//!
//! A call does not block. It copies its operands and returns a future for its results; XLA keeps the memory of operands and results until
//! the future is ready. See `crate::processes::exchange` for the steps in between.

use std::mem::offset_of;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use shardc_ir::DType;

use super::abi::{self, Call, Structure};
use super::api::Api;
use super::handles::{handle, non_null};
use super::incoming::{Block, Frame, Incoming, Table, protocol};
use super::xla_abi::{self as xla, CallFrame, Future, XlaApi, XlaError};
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;
use crate::processes::{ATTRIBUTE, COLLECTIVE_TARGET, FIRST_DEVICE_TARGET, Job};

/// The platform name for which functions are registered: the name that XLA uses for the CPU plugin.
const PLATFORM: &str = "HOST";
/// The name under which the type [`Launch`] is registered with XLA. The execution context of a launch contains data of this type.
const CONTEXT_TYPE: &str = "shardc.launch";

/// XLA's ID of the type [`CONTEXT_TYPE`]; 0 before the type is registered.
static CONTEXT_TYPE_ID: AtomicI64 = AtomicI64::new(0);

/// The launch of a program to which a call belongs.
struct Launch {
    job: Arc<Job>,
    number: u64,
    first_device: u32,
}

handle! {
    /// The context that a launch passes to the functions that its program calls.
    RawContext(abi::ExecuteContext), keeps api: Arc<Api>, via ExecuteContextDestroy.context
}

/// The execution context of a launch, and its data. Context and data live until all devices of the launch are done.
pub(super) struct LaunchContext {
    // This field is dropped first, because it points to `launch`.
    raw: RawContext,
    // Not a `Box`: moving a box asserts that no other pointer aliases its content, but `raw` points into it.
    launch: Arc<Launch>,
}

impl Drop for Launch {
    fn drop(&mut self) {
        self.job.exchange.end(self.number);
    }
}

impl LaunchContext {
    /// Creates a context for a launch of the program with the ID `program`. The indices of this process's devices in the launch start at
    /// `first_device`.
    pub(super) fn begin(
        api: &Arc<Api>,
        job: &Arc<Job>,
        program: u64,
        first_device: u32,
    ) -> Result<LaunchContext> {
        let number = job.exchange.begin(&**job, program)?;
        let launch = Arc::new(Launch { job: job.clone(), number, first_device });
        let mut create = abi::ExecuteContextCreate::empty();
        // SAFETY: the argument structure contains no pointer from the caller; the call writes the created context to it.
        unsafe { api.call(&mut create) }?;
        let ptr = non_null(abi::ExecuteContextCreate::NAME, create.context)?;
        let context = LaunchContext { raw: RawContext { ptr, api: api.clone() }, launch };
        let mut add = xla::UserDataAdd {
            struct_size: size_of::<xla::UserDataAdd>(),
            extension_start: ptr::null_mut(),
            context: context.raw.ptr,
            type_id: CONTEXT_TYPE_ID.load(Ordering::Acquire),
            data: Arc::as_ptr(&context.launch).cast_mut().cast(),
            deleter: ptr::null(),
        };
        let extension = ffi_extension(api)?;
        // SAFETY: the plugin's extension is valid for the life of the process.
        let function = unsafe { extension.as_ref() }.user_data_add.ok_or_else(|| lacking(api))?;
        // SAFETY: the context is alive. Its data is only read, and lives longer than the context.
        let error = unsafe { function(&raw mut add) };
        // SAFETY: the call has just created the error, if there is one, for its caller.
        unsafe { done(api, "PJRT_FFI_UserData_Add", error) }?;
        Ok(context)
    }

    pub(super) fn as_ptr(&self) -> *mut abi::ExecuteContext {
        self.raw.ptr
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

/// Converts the result of a function of the FFI extension: null is success.
///
/// # Safety
///
/// `error` must be null or owned by the caller, who gives up ownership.
unsafe fn done(api: &Api, call: &'static str, error: *mut abi::Error) -> Result<()> {
    match NonNull::new(error) {
        None => Ok(()),
        // SAFETY: the caller upholds the conditions in `# Safety`.
        Some(error) => Err(unsafe { api.take_error(call, error) }),
    }
}

/// Registers the functions with a plugin, once.
pub(crate) fn register(api: &Api) -> Result<()> {
    static REGISTERED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let mut registered = REGISTERED.lock().unwrap_or_else(PoisonError::into_inner);
    let extension = ffi_extension(api)?;
    if registered.contains(&extension.addr().get()) {
        return Ok(());
    }
    // SAFETY: the plugin's extension is valid for the life of the process.
    let functions = unsafe { extension.as_ref() };
    if CONTEXT_TYPE_ID.load(Ordering::Acquire) != 0 {
        return Err(RuntimeError::Argument(
            "only one plugin per process can use cross-process collectives".to_owned(),
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
    // SAFETY: this is the argument structure of the function, and everything that it points to outlives the call.
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
        // SAFETY: this is the argument structure of the function; the handler lives as long as the process.
        unsafe { done(api, "PJRT_FFI_Register_Handler", function(&raw mut arguments)) }?;
    }
    registered.push(extension.addr().get());
    Ok(())
}

/// The results of a call that are not available yet, and the future that announces them to XLA. The future is completed exactly once, with
/// success or an error.
struct Pending {
    table: Table,
    future: *mut Future,
    /// The memory of the results, with their sizes in bytes.
    results: Vec<(*mut u8, usize)>,
    is_done: bool,
}

// SAFETY: XLA lets any thread complete a future, and does not use the memory of results until then.
unsafe impl Send for Pending {}

impl Pending {
    fn finish(mut self, results: Result<Vec<HostArray>>) {
        let written = results.and_then(|arrays| self.write(&arrays));
        self.tell(written);
    }

    fn write(&mut self, arrays: &[HostArray]) -> Result<()> {
        let sizes = arrays.iter().map(|array| array.data.len());
        if !sizes.eq(self.results.iter().map(|(_, size)| *size)) {
            return Err(protocol("results whose sizes do not match the collective"));
        }
        for (array, &(to, size)) in arrays.iter().zip(&self.results) {
            if size > 0 {
                // SAFETY: `to` is the memory of the result, `size` bytes long, and only this function uses it until the future is ready.
                unsafe { ptr::copy_nonoverlapping(array.data.as_ptr(), to, size) };
            }
        }
        Ok(())
    }

    fn tell(&mut self, outcome: Result<()>) {
        self.is_done = true;
        let completed = match outcome {
            Ok(()) => {
                let mut set = xla::FutureCall {
                    struct_size: size_of::<xla::FutureCall>(),
                    extension_start: ptr::null_mut(),
                    future: self.future,
                };
                // SAFETY: this is the argument structure of the function; the future is alive until it is completed, here.
                unsafe { self.table.call(offset_of!(XlaApi, future_set_available), &mut set) }
            }
            Err(error) => {
                let mut set = xla::FutureSetError {
                    struct_size: size_of::<xla::FutureSetError>(),
                    extension_start: ptr::null_mut(),
                    future: self.future,
                    error: self.table.error(&error),
                };
                // SAFETY: this is the argument structure of the function, which takes ownership of the error; the future is alive until it
                // is completed, here.
                unsafe { self.table.call(offset_of!(XlaApi, future_set_error), &mut set) }
            }
        };
        // An error is ignored: if the future cannot be completed, the device waits until the launch's time limit.
        let _ = completed;
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_done {
            self.tell(Err(protocol("an abandoned collective")));
        }
    }
}

/// The handler that XLA calls for the custom call target [`COLLECTIVE_TARGET`].
///
/// # Safety
///
/// `frame` must be a frame that XLA passes to a handler.
unsafe extern "C" fn collective(frame: *mut CallFrame) -> *mut XlaError {
    // SAFETY: the caller upholds the conditions in `# Safety`.
    unsafe { answer(frame, begin_collective) }
}

fn begin_collective(incoming: &mut Incoming<'_>) -> Result<()> {
    if incoming.stage() != xla::STAGE_EXECUTE {
        return Err(protocol("a call outside of the execution stage"));
    }
    let launch = launch(incoming)?;
    let arguments = incoming.arguments()?;
    let Some((device, operands)) = arguments.split_last() else {
        return Err(protocol("a collective without operands"));
    };
    let device: Option<Vec<u32>> = device.array()?.to_vec();
    let Some(&[device]) = device.as_deref() else { return Err(protocol("no device number")) };
    let operands = operands.iter().map(Block::array).collect::<Result<Vec<_>>>()?;
    let results = incoming.results()?.iter().map(Block::place).collect::<Result<Vec<_>>>()?;
    let text = incoming.text(ATTRIBUTE)?;
    let mut create = xla::FutureCall {
        struct_size: size_of::<xla::FutureCall>(),
        extension_start: ptr::null_mut(),
        future: ptr::null_mut(),
    };
    let table = incoming.table();
    // SAFETY: this is the argument structure of the function, which writes the created future to it.
    unsafe { table.call(offset_of!(XlaApi, future_create), &mut create) }?;
    let future = non_null("XLA_FFI_Future_Create", create.future)?;
    let pending = Pending { table, future, results, is_done: false };
    let answer = Box::new(move |results| pending.finish(results));
    launch.job.exchange.arrive(&*launch.job, launch.number, text, device as usize, operands, answer);
    incoming.set_future(future);
    Ok(())
}

/// The handler that XLA calls for the custom call target [`FIRST_DEVICE_TARGET`].
///
/// # Safety
///
/// `frame` must be a frame that XLA passes to a handler.
unsafe extern "C" fn first_device(frame: *mut CallFrame) -> *mut XlaError {
    // SAFETY: the caller upholds the conditions in `# Safety`.
    unsafe {
        answer(frame, |incoming| {
            let launch = launch(incoming)?;
            let results = incoming.results()?;
            let [result] = results.as_slice() else {
                return Err(protocol("a number of results other than one"));
            };
            let ((to, size), dtype) = (result.place()?, result.dtype()?);
            if dtype != DType::UI32 || size != size_of::<u32>() {
                return Err(protocol("a result that is not a scalar"));
            }
            // SAFETY: the result has space for one number, and only this call writes it.
            to.cast::<u32>().write_unaligned(launch.first_device);
            Ok(())
        })
    }
}

/// Returns the launch to which a call belongs.
fn launch<'a>(incoming: &Incoming<'a>) -> Result<&'a Launch> {
    let data = incoming.context_data(CONTEXT_TYPE_ID.load(Ordering::Acquire))?;
    // SAFETY: only `LaunchContext::begin` puts data of this type into a context, which outlives the launch's calls.
    Ok(unsafe { data.cast::<Launch>().as_ref() })
}

/// Runs the body of a call, and passes its error to XLA.
///
/// # Safety
///
/// `frame` must be a frame that XLA passes to a handler.
unsafe fn answer(frame: *mut CallFrame, work: impl FnOnce(&mut Incoming<'_>) -> Result<()>) -> *mut XlaError {
    // SAFETY: the caller upholds the conditions in `# Safety`.
    let outcome = match unsafe { Incoming::read(frame) } {
        Frame::Call(mut incoming) => work(&mut incoming).map_err(|error| (incoming.table(), error)),
        Frame::Question => Ok(()),
        Frame::Unknown(table, error) => Err((table, error)),
    };
    match outcome {
        Ok(()) => ptr::null_mut(),
        Err((table, error)) => table.error(&error),
    }
}
