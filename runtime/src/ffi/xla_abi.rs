//! Layouts of XLA's FFI C API, version 0.3 (`xla/ffi/api/c_api.h` of OpenXLA), through which compiled programs call functions of this
//! process. This module also has the layout of the PJRT extension by which these functions are registered with a plugin
//! (`xla/pjrt/c/pjrt_c_api_ffi_extension.h`).
//!
//! As in the PJRT C API, structures begin with their size, and new versions add fields at the end.

use std::ffi::{c_char, c_int, c_void};

/// The fields at the start of each extension of the PJRT C API and of the FFI API.
#[repr(C)]
pub(super) struct ExtensionBase {
    pub(super) struct_size: usize,
    pub(super) kind: c_int,
    pub(super) next: *mut ExtensionBase,
}

/// The C constant `PJRT_Extension_Type_FFI`.
pub(super) const PJRT_EXTENSION_FFI: c_int = 5;
/// The C constant `XLA_FFI_Extension_Metadata`.
pub(super) const XLA_EXTENSION_METADATA: c_int = 1;

/// The C structure `PJRT_FFI_Extension`; its functions return an error of the PJRT C API.
#[repr(C)]
pub(super) struct FfiExtension {
    pub(super) base: ExtensionBase,
    pub(super) type_register: Option<unsafe extern "C" fn(*mut TypeRegister) -> *mut super::abi::Error>,
    pub(super) user_data_add: Option<unsafe extern "C" fn(*mut UserDataAdd) -> *mut super::abi::Error>,
    pub(super) register_handler: Option<unsafe extern "C" fn(*mut RegisterHandler) -> *mut super::abi::Error>,
}

/// The C structure `PJRT_FFI_Type_Info`: callbacks by which XLA handles values of a registered type; null for no callback.
#[repr(C)]
pub(super) struct TypeInfo {
    pub(super) deleter: *const c_void,
    pub(super) serialize: *const c_void,
    pub(super) deserialize: *const c_void,
}

/// The C structure `PJRT_FFI_Type_Register_Args`; older plugins do not have the last field.
#[repr(C)]
pub(super) struct TypeRegister {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) type_name: *const c_char,
    pub(super) type_name_size: usize,
    pub(super) type_id: i64,
    pub(super) type_info: *const TypeInfo,
}

/// The C structure `PJRT_FFI_UserData_Add_Args`; newer plugins do not have the last field.
#[repr(C)]
pub(super) struct UserDataAdd {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) context: *mut super::abi::ExecuteContext,
    pub(super) type_id: i64,
    pub(super) data: *mut c_void,
    pub(super) deleter: *const c_void,
}

/// The C structure `PJRT_FFI_Register_Handler_Args`, which has no pointer to extensions.
#[repr(C)]
pub(super) struct RegisterHandler {
    pub(super) struct_size: usize,
    pub(super) target_name: *const c_char,
    pub(super) target_name_size: usize,
    pub(super) handler: Handler,
    pub(super) platform_name: *const c_char,
    pub(super) platform_name_size: usize,
    pub(super) traits: c_int,
}

/// The type of a handler: a function that a program calls. It returns null, or an error that the caller owns.
pub(super) type Handler = unsafe extern "C" fn(*mut CallFrame) -> *mut XlaError;

/// The C structure `XLA_FFI_Error`.
#[repr(C)]
pub(super) struct XlaError {
    _private: [u8; 0],
}

/// The C structure `XLA_FFI_Future`.
#[repr(C)]
pub(super) struct Future {
    _private: [u8; 0],
}

/// The C structure `XLA_FFI_Api_Version`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct ApiVersion {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) major: c_int,
    pub(super) minor: c_int,
}

/// The type of the functions in XLA's table: each takes one argument structure, and returns null or an error.
pub(super) type Function = unsafe extern "C" fn(*mut c_void) -> *mut XlaError;
/// The type of the two functions in the table that return nothing: `XLA_FFI_Error_GetMessage` and `XLA_FFI_Error_Destroy`.
pub(super) type VoidFunction = unsafe extern "C" fn(*mut c_void);

/// The C structure `XLA_FFI_Api`.
#[repr(C)]
pub(super) struct XlaApi {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) version: ApiVersion,
    pub(super) internal: *const c_void,
    pub(super) error_create: Option<Function>,
    pub(super) error_get_message: Option<VoidFunction>,
    pub(super) error_destroy: Option<VoidFunction>,
    pub(super) handler_register: Option<Function>,
    pub(super) stream_get: Option<Function>,
    pub(super) type_register: Option<Function>,
    pub(super) execution_context_get: Option<Function>,
    pub(super) state_set: Option<Function>,
    pub(super) state_get: Option<Function>,
    pub(super) device_memory_allocate: Option<Function>,
    pub(super) device_memory_free: Option<Function>,
    pub(super) thread_pool_schedule: Option<Function>,
    pub(super) thread_pool_num_threads: Option<Function>,
    pub(super) future_create: Option<Function>,
    pub(super) future_set_available: Option<Function>,
    pub(super) future_set_error: Option<Function>,
    pub(super) run_id_get: Option<Function>,
    pub(super) device_ordinal_get: Option<Function>,
}

/// The C structures `XLA_FFI_Args` and `XLA_FFI_Rets`, which have the same layout.
#[repr(C)]
pub(super) struct Buffers {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) size: i64,
    pub(super) kinds: *const c_int,
    pub(super) buffers: *const *const XlaBuffer,
}

/// The C constants `XLA_FFI_ArgType_BUFFER` and `XLA_FFI_RetType_BUFFER`.
pub(super) const KIND_BUFFER: c_int = 1;

/// The C structure `XLA_FFI_Buffer`.
#[repr(C)]
pub(super) struct XlaBuffer {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) dtype: c_int,
    pub(super) data: *mut u8,
    pub(super) rank: i64,
    pub(super) dims: *const i64,
}

/// The C structure `XLA_FFI_ByteSpan`.
#[repr(C)]
pub(super) struct ByteSpan {
    pub(super) start: *const u8,
    pub(super) size: usize,
}

/// The C structure `XLA_FFI_Attrs`.
#[repr(C)]
pub(super) struct Attributes {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) size: i64,
    pub(super) kinds: *const c_int,
    pub(super) names: *const *const ByteSpan,
    pub(super) values: *const *const c_void,
}

/// The C constant `XLA_FFI_AttrType_STRING`: the value is a [`ByteSpan`].
pub(super) const KIND_STRING: c_int = 4;

/// The C constant `XLA_FFI_ExecutionStage_EXECUTE`.
pub(super) const STAGE_EXECUTE: c_int = 3;

/// The C structure `XLA_FFI_CallFrame`.
#[repr(C)]
pub(super) struct CallFrame {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut ExtensionBase,
    pub(super) api: *const XlaApi,
    pub(super) context: *mut c_void,
    pub(super) stage: c_int,
    pub(super) arguments: Buffers,
    pub(super) results: Buffers,
    pub(super) attributes: Attributes,
    pub(super) future: *mut Future,
}

/// The C structure `XLA_FFI_Metadata`; older versions do not have the last field.
#[repr(C)]
pub(super) struct Metadata {
    pub(super) struct_size: usize,
    pub(super) version: ApiVersion,
    pub(super) traits: u32,
}

/// The C structure `XLA_FFI_Metadata_Extension`.
#[repr(C)]
pub(super) struct MetadataExtension {
    pub(super) base: ExtensionBase,
    pub(super) metadata: *mut Metadata,
}

/// The C structure `XLA_FFI_Error_Create_Args`.
#[repr(C)]
pub(super) struct ErrorCreate {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) message: *const c_char,
    pub(super) code: c_int,
}

/// The C constants `XLA_FFI_Error_Code_INTERNAL` and `_UNAVAILABLE`.
pub(super) const CODE_INTERNAL: c_int = 13;
pub(super) const CODE_UNAVAILABLE: c_int = 14;

/// The C structure `XLA_FFI_Error_Destroy_Args`.
#[repr(C)]
pub(super) struct ErrorDestroy {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) error: *mut XlaError,
}

/// The C structure `XLA_FFI_ExecutionContext_Get_Args`.
#[repr(C)]
pub(super) struct ContextGet {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) context: *mut c_void,
    pub(super) type_id: *const i64,
    pub(super) data: *mut c_void,
}

/// The C structures `XLA_FFI_Future_Create_Args` and `XLA_FFI_Future_SetAvailable_Args`.
#[repr(C)]
pub(super) struct FutureCall {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) future: *mut Future,
}

/// The C structure `XLA_FFI_Future_SetError_Args`.
#[repr(C)]
pub(super) struct FutureSetError {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) future: *mut Future,
    pub(super) error: *mut XlaError,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares sizes and offsets with those that a C compiler computes for the same structures on a 64-bit machine.
    #[test]
    fn layouts_are_those_of_the_c_headers() {
        assert_eq!(size_of::<ExtensionBase>(), 24);
        assert_eq!(size_of::<FfiExtension>(), 48);
        assert_eq!(size_of::<RegisterHandler>(), 56);
        assert_eq!(size_of::<ApiVersion>(), 24);
        assert_eq!(size_of::<XlaApi>(), 192);
        assert_eq!(size_of::<Buffers>(), 40);
        assert_eq!(size_of::<XlaBuffer>(), 48);
        assert_eq!(size_of::<Attributes>(), 48);
        assert_eq!(size_of::<CallFrame>(), 176);
        assert_eq!(std::mem::offset_of!(CallFrame, arguments), 40);
        assert_eq!(std::mem::offset_of!(CallFrame, future), 168);
        assert_eq!(size_of::<Metadata>(), 40);
        assert_eq!(size_of::<MetadataExtension>(), 32);
    }
}
