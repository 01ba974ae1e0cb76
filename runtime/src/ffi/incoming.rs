//! Reads the arguments of a custom call, which XLA passes when a compiled program calls a function of this process. Every size and pointer
//! is checked before it is used.
//!
//! Newer versions of XLA's API add fields at the end of structures. Each structure contains its length, and nothing is read or written
//! beyond it.

use std::ffi::{CString, c_int, c_void};
use std::marker::PhantomData;
use std::mem::offset_of;
use std::ptr::{self, NonNull};

use shardc_ir::DType;

use super::api::slice;
use super::xla_abi::{self as xla, CallFrame, Future, XlaApi, XlaBuffer, XlaError};
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;

pub(super) fn protocol(what: &str) -> RuntimeError {
    RuntimeError::Protocol { call: "XLA_FFI_Handler", what: what.to_owned() }
}

/// XLA's table of functions.
#[derive(Clone, Copy)]
pub(super) struct Table(NonNull<XlaApi>);

// SAFETY: the table is constant memory for the life of the process, and any thread may call its functions.
unsafe impl Send for Table {}

impl Table {
    /// Returns the function at an offset of the table in bytes; `None` if the table is too short.
    fn function(self, offset: usize) -> Option<NonNull<c_void>> {
        // SAFETY: the table begins with its size in every version.
        let size = unsafe { self.0.cast::<usize>().read() };
        if offset + size_of::<*mut c_void>() > size {
            return None;
        }
        // SAFETY: the pointer is within the table and aligned.
        NonNull::new(unsafe { self.0.byte_add(offset).cast::<*mut c_void>().read() })
    }

    /// Calls the function at an offset of the table. The message of an error is discarded.
    ///
    /// # Safety
    ///
    /// `arguments` must be the structure of the function, with pointers that outlive the call.
    pub(super) unsafe fn call<T>(self, offset: usize, arguments: &mut T) -> Result<()> {
        let function = self
            .function(offset)
            .ok_or_else(|| protocol("a table of functions that is too short: the plugin is too old"))?;
        // SAFETY: all functions of the table have this signature, except two functions for errors that return nothing.
        let function: xla::Function = unsafe { std::mem::transmute(function.as_ptr()) };
        // SAFETY: the caller upholds the conditions in `# Safety`.
        let error = unsafe { function(ptr::from_mut(arguments).cast()) };
        if error.is_null() {
            return Ok(());
        }
        if let Some(destroy) = self.function(offset_of!(XlaApi, error_destroy)) {
            let mut arguments = xla::ErrorDestroy {
                struct_size: size_of::<xla::ErrorDestroy>(),
                extension_start: ptr::null_mut(),
                error,
            };
            // SAFETY: this function returns nothing; the call has just created the error for its caller.
            unsafe {
                let destroy: xla::VoidFunction = std::mem::transmute(destroy.as_ptr());
                destroy((&raw mut arguments).cast());
            }
        }
        Err(protocol("an error"))
    }

    /// Creates an error for XLA; null if its table is too short to create one.
    pub(super) fn error(self, error: &RuntimeError) -> *mut XlaError {
        let is_lost = matches!(error, RuntimeError::ProcessLost { .. });
        let text = error.to_string().replace('\0', " ");
        let text = CString::new(text).unwrap_or_default();
        let mut create = xla::ErrorCreate {
            struct_size: size_of::<xla::ErrorCreate>(),
            extension_start: ptr::null_mut(),
            message: text.as_ptr(),
            code: if is_lost { xla::CODE_UNAVAILABLE } else { xla::CODE_INTERNAL },
        };
        let Some(function) = self.function(offset_of!(XlaApi, error_create)) else { return ptr::null_mut() };
        // SAFETY: the function has this signature, the structure is its own, and it copies the message.
        unsafe {
            let function: xla::Function = std::mem::transmute(function.as_ptr());
            function((&raw mut create).cast())
        }
    }
}

/// A frame (the structure that XLA passes to a handler), by its purpose.
pub(super) enum Frame<'a> {
    /// A custom call of a program.
    Call(Incoming<'a>),
    /// A query of the API version for which the handler was built. It has already been answered.
    Question,
    /// A frame that is invalid or of an unknown kind: XLA's table of functions, and the error to return.
    Unknown(Table, RuntimeError),
}

/// A custom call of a program, with access to its operands and results.
pub(super) struct Incoming<'a> {
    frame: &'a mut CallFrame,
    table: Table,
}

impl<'a> Incoming<'a> {
    /// Reads a frame that XLA passes to a handler.
    ///
    /// # Safety
    ///
    /// `frame` must be a frame that XLA passes to a handler.
    pub(super) unsafe fn read(frame: *mut CallFrame) -> Frame<'a> {
        // SAFETY: the caller upholds the conditions in `# Safety`. Frames of all versions begin with their size, the extensions and the
        // table, which is never null.
        let (size, mut extension, table) = unsafe {
            let table = NonNull::new_unchecked((*frame).api.cast_mut());
            ((*frame).struct_size, (*frame).extension_start, Table(table))
        };
        while let Some(found) = NonNull::new(extension) {
            // SAFETY: every extension begins with this base in every version.
            let base = unsafe { found.as_ref() };
            let is_whole = base.struct_size >= size_of::<xla::MetadataExtension>();
            if base.kind == xla::XLA_EXTENSION_METADATA && is_whole {
                // SAFETY: an extension of that kind and size has that layout.
                let metadata = unsafe { found.cast::<xla::MetadataExtension>().as_ref() }.metadata;
                // SAFETY: XLA requests only the fields for which it has space.
                unsafe { table.answer(metadata) };
                return Frame::Question;
            }
            extension = base.next;
        }
        // Frames end with a future that their size does not include. A frame has it if the table has the function that creates futures.
        let has_future = table.function(offset_of!(XlaApi, future_create)).is_some();
        if size < offset_of!(CallFrame, future) || !has_future {
            return Frame::Unknown(table, protocol("a frame that is too short: the plugin is too old"));
        }
        // SAFETY: the frame has all fields of this type, and lives as long as the call.
        Frame::Call(Incoming { frame: unsafe { &mut *frame }, table })
    }

    pub(super) fn table(&self) -> Table {
        self.table
    }

    /// The execution stage of the call.
    pub(super) fn stage(&self) -> c_int {
        self.frame.stage
    }

    /// Returns to XLA the future that becomes ready when the results are available.
    pub(super) fn set_future(&mut self, future: *mut Future) {
        self.frame.future = future;
    }

    /// Returns the data of the type with this ID in the execution context of the launch.
    pub(super) fn context_data(&self, type_id: i64) -> Result<NonNull<c_void>> {
        let mut get = xla::ContextGet {
            struct_size: size_of::<xla::ContextGet>(),
            extension_start: ptr::null_mut(),
            context: self.frame.context,
            type_id: &raw const type_id,
            data: ptr::null_mut(),
        };
        // SAFETY: this is the argument structure of the function, with the context of this call.
        unsafe { self.table.call(offset_of!(XlaApi, execution_context_get), &mut get) }?;
        NonNull::new(get.data).ok_or_else(|| protocol("a launch without a context"))
    }

    /// The operands of the call.
    ///
    /// # Errors
    ///
    /// An operand is not an array but, for example, a token.
    pub(super) fn arguments(&self) -> Result<Vec<Block<'a>>> {
        // SAFETY: the list belongs to the frame.
        unsafe { blocks(&self.frame.arguments) }
    }

    /// The results of the call, whose content the handler writes.
    ///
    /// # Errors
    ///
    /// The errors of [`Incoming::arguments`].
    pub(super) fn results(&self) -> Result<Vec<Block<'a>>> {
        // SAFETY: the list belongs to the frame.
        unsafe { blocks(&self.frame.results) }
    }

    /// The value of a string attribute.
    pub(super) fn text(&self, name: &str) -> Result<&'a str> {
        let list = &self.frame.attributes;
        // SAFETY: the lists have as many attributes as their size says, for the duration of the call.
        let (kinds, names, values) = unsafe {
            let kinds = sized(list.kinds, list.size)?;
            (kinds, sized(list.names, list.size)?, sized(list.values, list.size)?)
        };
        for ((&kind, &known), &value) in kinds.iter().zip(names).zip(values) {
            // SAFETY: names are spans of bytes.
            let known = unsafe { known.as_ref().map(|known| slice(known.start, known.size)) };
            if known == Some(name.as_bytes()) && kind == xla::KIND_STRING {
                // SAFETY: the value of a string attribute is a span of bytes.
                let value = unsafe { value.cast::<xla::ByteSpan>().as_ref() };
                // SAFETY: the value of a string attribute is a span of bytes, which lives as long as the call.
                let text = value.map(|value| unsafe { slice(value.start, value.size) });
                return text
                    .and_then(|text| std::str::from_utf8(text).ok())
                    .ok_or_else(|| protocol("an attribute that is not a string"));
            }
        }
        Err(protocol("no description of the collective"))
    }
}

impl Table {
    /// Answers a query of the API version for which the handlers were built: reports the version of this XLA, because the layouts used here
    /// are the same in all versions.
    ///
    /// # Safety
    ///
    /// `metadata` must be null or point to a structure of the length in its first field.
    unsafe fn answer(self, metadata: *mut xla::Metadata) {
        if metadata.is_null() {
            return;
        }
        // SAFETY: the caller upholds the conditions in `# Safety`; fields are written only if the structure has them. The head of the table
        // is the same in all versions.
        unsafe {
            let size = (*metadata).struct_size;
            if size >= offset_of!(xla::Metadata, traits) {
                (*metadata).version = (*self.0.as_ptr()).version;
            }
            if size >= offset_of!(xla::Metadata, traits) + size_of::<u32>() {
                (*metadata).traits = 0;
            }
        }
    }
}

/// Returns the slice with this pointer and signed length in C; an error if they are invalid.
///
/// # Safety
///
/// `start` must be null or point to `size` valid elements, which live for `'a` and are not changed.
unsafe fn sized<'a, T>(start: *const T, size: i64) -> Result<&'a [T]> {
    match usize::try_from(size) {
        Ok(0) => Ok(&[]),
        // SAFETY: the caller upholds the conditions in `# Safety`.
        Ok(size) if !start.is_null() => Ok(unsafe { slice(start, size) }),
        _ => Err(protocol("a list of invalid length")),
    }
}

/// Returns the operands or results of a list.
///
/// # Safety
///
/// The list must belong to a call that lasts for `'a`.
unsafe fn blocks<'a>(list: &xla::Buffers) -> Result<Vec<Block<'a>>> {
    // SAFETY: the lists have as many kinds and pointers as their size says, for the duration of the call.
    let (kinds, buffers) = unsafe { (sized(list.kinds, list.size)?, sized(list.buffers, list.size)?) };
    if kinds.iter().any(|&kind| kind != xla::KIND_BUFFER) {
        return Err(protocol("an operand or result that is not an array"));
    }
    buffers
        .iter()
        .map(|&buffer| {
            let buffer = NonNull::new(buffer.cast_mut()).ok_or_else(|| protocol("a null buffer"))?;
            // SAFETY: an object with the kind of a buffer begins with its size.
            if unsafe { buffer.cast::<usize>().read() } < size_of::<XlaBuffer>() {
                return Err(protocol("a buffer that is too short: the plugin is too old"));
            }
            Ok(Block { buffer, call: PhantomData })
        })
        .collect()
}

/// An operand or result: a dense row-major array.
pub(super) struct Block<'a> {
    buffer: NonNull<XlaBuffer>,
    call: PhantomData<&'a XlaBuffer>,
}

impl Block<'_> {
    fn buffer(&self) -> &XlaBuffer {
        // SAFETY: `blocks` has checked the size of the structure; it lives as long as the call.
        unsafe { self.buffer.as_ref() }
    }

    /// Returns the element type, or an error if cross-process collectives do not support the type.
    pub(super) fn dtype(&self) -> Result<DType> {
        dtype_of(self.buffer().dtype)
    }

    fn shape(&self) -> Result<Vec<usize>> {
        let buffer = self.buffer();
        // SAFETY: there are as many sizes as the rank says.
        let dims = unsafe { sized(buffer.dims, buffer.rank) }?;
        let size = |&n: &i64| usize::try_from(n).map_err(|_| protocol("a negative dimension"));
        dims.iter().map(size).collect()
    }

    /// Returns a pointer to the elements, and their size in bytes; the pointer is null only if the size is zero.
    pub(super) fn place(&self) -> Result<(*mut u8, usize)> {
        let size = HostArray::byte_size(self.dtype()?, &self.shape()?)?;
        let data = self.buffer().data;
        if size > 0 && data.is_null() {
            return Err(protocol("an array without memory"));
        }
        Ok((data, size))
    }

    /// Copies the array into memory of this process.
    pub(super) fn array(&self) -> Result<HostArray> {
        let (data, size) = self.place()?;
        // SAFETY: an operand has as many bytes as its type and shape require, and is not changed during the call.
        let data = unsafe { slice(data.cast_const(), size) };
        HostArray::new(self.dtype()?, &self.shape()?, data.to_vec())
    }
}

/// Returns the element type with this enum value in XLA; an error if cross-process collectives do not support the type.
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
                what: "a cross-process collective",
                dtype: format!("number {number}"),
            });
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a fake error of XLA: a pointer whose address is the error code.
    unsafe extern "C" fn create_error(arguments: *mut c_void) -> *mut XlaError {
        // SAFETY: the table calls this with that structure.
        let code = unsafe { (*arguments.cast::<xla::ErrorCreate>()).code };
        ptr::without_provenance_mut(code as usize)
    }

    /// Returns a table of functions that claims this size in bytes; most functions are null.
    fn table(size: usize) -> XlaApi {
        // SAFETY: the fields are integers and nullable pointers.
        let mut table: XlaApi = unsafe { std::mem::zeroed() };
        table.struct_size = size;
        table.version.minor = 3;
        table.error_create = Some(create_error);
        table.future_create = Some(create_error);
        table
    }

    /// Returns the frame of a call without operands and results.
    fn frame(table: &XlaApi) -> CallFrame {
        // SAFETY: the fields are integers and nullable pointers.
        let mut frame: CallFrame = unsafe { std::mem::zeroed() };
        frame.struct_size = size_of::<CallFrame>();
        frame.api = table;
        frame
    }

    /// Returns the structure of an operand: an array of floats at `data`, with dimension sizes `dims`.
    fn buffer(data: *mut [f32; 2], dims: &[i64]) -> XlaBuffer {
        XlaBuffer {
            struct_size: size_of::<XlaBuffer>(),
            extension_start: ptr::null_mut(),
            dtype: 11,
            data: data.cast(),
            rank: dims.len() as i64,
            dims: dims.as_ptr(),
        }
    }

    /// Reads the operand of a call that has one operand, `buffer`.
    fn array(buffer: &XlaBuffer, kinds: &[c_int], size: i64) -> Result<HostArray> {
        let table = table(size_of::<XlaApi>());
        let mut frame = frame(&table);
        let buffers = [ptr::from_ref(buffer)];
        frame.arguments.size = size;
        frame.arguments.kinds = if kinds.is_empty() { ptr::null() } else { kinds.as_ptr() };
        frame.arguments.buffers = buffers.as_ptr();
        // SAFETY: the frame is complete, and everything that it points to is alive.
        match unsafe { Incoming::read(&raw mut frame) } {
            Frame::Call(incoming) => incoming.arguments()?[0].array(),
            _ => panic!("it is a call"),
        }
    }

    fn refused(buffer: &XlaBuffer) -> String {
        let error = array(buffer, &[xla::KIND_BUFFER], 1).unwrap_err();
        assert_eq!(error.code(), "RT0203");
        error.to_string()
    }

    #[test]
    fn invalid_arrays_are_rejected() {
        let mut data = [1.5f32, -2.0];
        let (data, dims, below) = (&raw mut data, [2], [-2]);
        let good = || buffer(data, &dims);
        let read = array(&good(), &[xla::KIND_BUFFER], 1).unwrap();
        assert_eq!((read.shape.as_slice(), read.to_f64_vec()), (&[2][..], vec![1.5, -2.0]));
        assert!(refused(&XlaBuffer { rank: -1, ..good() }).contains("invalid length"));
        assert!(refused(&XlaBuffer { dims: ptr::null(), ..good() }).contains("invalid length"));
        assert!(refused(&XlaBuffer { data: ptr::null_mut(), ..good() }).contains("without memory"));
        assert!(refused(&XlaBuffer { dims: below.as_ptr(), ..good() }).contains("negative dimension"));
        assert!(refused(&XlaBuffer { struct_size: 40, ..good() }).contains("too short"));
        let unknown = XlaBuffer { dtype: 17, ..good() };
        assert!(array(&unknown, &[xla::KIND_BUFFER], 1).is_err_and(|e| e.to_string().contains("number 17")));
        // Without the list of kinds, the structures behind the pointers are unknown.
        assert!(array(&good(), &[], 1).is_err_and(|e| e.to_string().contains("invalid length")));
        assert!(array(&good(), &[xla::KIND_BUFFER], -1).is_err());
        assert!(array(&good(), &[2], 1).is_err_and(|e| e.to_string().contains("not an array")));
    }

    #[test]
    fn short_frames_and_tables_are_errors() {
        let whole = table(size_of::<XlaApi>());
        let short = table(offset_of!(XlaApi, future_create));
        let mut without_attributes = frame(&whole);
        without_attributes.struct_size = offset_of!(CallFrame, attributes);
        let mut without_future = frame(&short);
        for frame in [&mut without_attributes, &mut without_future] {
            // SAFETY: the frame is at least as long as its size says.
            let Frame::Unknown(table, error) = (unsafe { Incoming::read(frame) }) else {
                panic!("it is too short")
            };
            assert!(error.to_string().contains("too short"), "{error}");
            assert_eq!(table.error(&error).addr(), xla::CODE_INTERNAL as usize);
        }
        let short = Table(NonNull::from(&short));
        let mut create =
            xla::FutureCall { struct_size: 24, extension_start: ptr::null_mut(), future: ptr::null_mut() };
        // SAFETY: `create` is the argument structure of the function. The truncated table ends before the function, so that `call` returns an
        // error and calls nothing.
        let outcome = unsafe { short.call(offset_of!(XlaApi, future_create), &mut create) };
        assert!(outcome.unwrap_err().to_string().contains("too old"));
        let none = table(offset_of!(XlaApi, error_create));
        assert!(Table(NonNull::from(&none)).error(&protocol("something")).is_null());
    }

    #[test]
    fn version_is_written_if_there_is_space() {
        let table = table(size_of::<XlaApi>());
        let version_and_traits = |size: usize| {
            // SAFETY: the fields are integers and nullable pointers.
            let mut metadata: xla::Metadata = unsafe { std::mem::zeroed() };
            (metadata.struct_size, metadata.traits) = (size, 7);
            let base = |kind, next| xla::ExtensionBase {
                struct_size: size_of::<xla::MetadataExtension>(),
                kind,
                next,
            };
            let mut extension = xla::MetadataExtension {
                base: base(xla::XLA_EXTENSION_METADATA, ptr::null_mut()),
                metadata: &raw mut metadata,
            };
            // The extension follows one of an unknown kind.
            let mut first = base(99, (&raw mut extension).cast());
            let mut frame = frame(&table);
            frame.extension_start = &raw mut first;
            // SAFETY: the frame and its extensions are alive.
            let is_question = matches!(unsafe { Incoming::read(&raw mut frame) }, Frame::Question);
            assert!(is_question, "it is no call");
            (metadata.version.minor, metadata.traits)
        };
        // XLA reports the size of a structure without the padding after its last field.
        assert_eq!(version_and_traits(offset_of!(xla::Metadata, traits) + 4), (3, 0));
        assert_eq!(version_and_traits(offset_of!(xla::Metadata, traits)), (3, 7));
        assert_eq!(version_and_traits(offset_of!(xla::Metadata, version)), (0, 7));
    }
}
