//! Layouts of the PJRT C API, version 0.117 (`xla/pjrt/c/pjrt_c_api.h` of OpenXLA).
//!
//! Each function takes one pointer to its argument structure, which starts with its size. New versions of the API add fields at the end of
//! these structures, and functions at the end of the table. A plugin rejects a structure smaller than its own, and accepts a larger one. So
//! these definitions must be as new as the newest plugin, and before a call the function's index is compared with the size of the plugin's
//! table. All structures are plain data for which all bits zero is a valid value.

use std::ffi::{c_char, c_int, c_void};

/// Declares an opaque type of the C API, which is used only by pointer.
macro_rules! opaque {
    ($($name:ident)*) => { $(
        #[repr(C)]
        pub(super) struct $name { _private: [u8; 0] }
    )* };
}

opaque! {
    Error Event Client Device DeviceDescription Memory Buffer Executable LoadedExecutable SerializedExecutable
    TopologyDescription ExecuteContext LayoutsMemoryLayout LayoutsSerialized
}

/// The type of a function by which a callback creates an error of the plugin, from a status code and a message that is copied.
pub(super) type MakeError = unsafe extern "C" fn(c_int, *const c_char, usize) -> *mut Error;
/// The type of a function by which the plugin frees a value that a callback returned.
pub(super) type Deleter = unsafe extern "C" fn(*mut c_char);

/// The C structure `PJRT_KeyValueGetCallback_Args`.
#[repr(C)]
pub(super) struct KeyValueGet {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) key: *const c_char,
    pub(super) key_size: usize,
    pub(super) timeout_in_ms: c_int,
    pub(super) make_error: *const MakeError,
    pub(super) user_arg: *mut c_void,
    pub(super) value: *mut c_char,
    pub(super) value_size: usize,
    pub(super) deleter: Option<Deleter>,
}

/// The C structure `PJRT_KeyValueTryGetCallback_Args`.
#[repr(C)]
pub(super) struct KeyValueTryGet {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) key: *const c_char,
    pub(super) key_size: usize,
    pub(super) make_error: *const MakeError,
    pub(super) user_arg: *mut c_void,
    pub(super) value: *mut c_char,
    pub(super) value_size: usize,
    pub(super) deleter: Option<Deleter>,
}

/// The C structure `PJRT_KeyValuePutCallback_Args`.
#[repr(C)]
pub(super) struct KeyValuePut {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) key: *const c_char,
    pub(super) key_size: usize,
    pub(super) value: *const c_char,
    pub(super) value_size: usize,
    pub(super) make_error: *const MakeError,
    pub(super) user_arg: *mut c_void,
}

/// A structure that the API passes by pointer, beginning with its own size.
///
/// # Safety
///
/// The type must be `repr(C)`, begin with the field `struct_size: usize`, and be valid with all bits zero.
pub(super) unsafe trait Structure: Sized {
    /// Creates the structure with all fields zero except its size.
    fn empty() -> Self {
        // SAFETY: implementors promise that all bits zero is a valid value.
        let mut value: Self = unsafe { std::mem::zeroed() };
        // SAFETY: implementors promise that the structure begins with a `usize` that holds its size.
        unsafe { *(&raw mut value).cast::<usize>() = size_of::<Self>() };
        value
    }
}

/// The argument structure of one function in the API's function table.
///
/// # Safety
///
/// `SLOT` must be the index of the function that takes this structure.
pub(super) unsafe trait Call: Structure {
    /// The index of the function in the API's function table.
    const SLOT: usize;
    /// The function's name in the C header.
    const NAME: &'static str;
}

/// Declares a C structure that begins with the two fields that all structures have (its size, and a pointer to extensions).
macro_rules! structure {
    ($name:ident { $($field:ident: $ty:ty,)* }) => {
        #[repr(C)]
        pub(super) struct $name {
            pub(super) struct_size: usize,
            pub(super) extension_start: *mut std::ffi::c_void,
            $(pub(super) $field: $ty,)*
        }
        // SAFETY: `repr(C)`, begins with its size, and holds integers, floats and pointers only.
        unsafe impl $crate::ffi::abi::Structure for $name {}
    };
}
pub(super) use structure;

/// Declares the argument structures of functions, with the indices of the functions in the table.
macro_rules! calls {
    ($($slot:literal $function:literal $name:ident { $($field:ident: $ty:ty,)* })*) => {
        $(
            structure! { $name { $($field: $ty,)* } }
            // SAFETY: the index and the layout are those of the header's `PJRT_Api`.
            unsafe impl Call for $name {
                const SLOT: usize = $slot;
                const NAME: &'static str = $function;
            }
        )*
        /// The index in the table and the name of every function that the runtime calls.
        pub(crate) const FUNCTIONS: &[(usize, &str)] = &[$(($slot, $function)),*];
    };
}

/// The head of the table of functions; the function pointers follow it in memory.
#[repr(C)]
pub(super) struct ApiTable {
    pub(super) struct_size: usize,
    pub(super) extension_start: *mut c_void,
    pub(super) version_struct_size: usize,
    pub(super) version_extension_start: *mut c_void,
    pub(super) major_version: c_int,
    pub(super) minor_version: c_int,
}

structure! { NamedValue {
    name: *const c_char,
    name_size: usize,
    kind: c_int,
    value: NamedValueUnion,
    value_size: usize,
} }

/// The value of a [`NamedValue`]; `kind` selects the valid field.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) union NamedValueUnion {
    pub(super) string: *const c_char,
    pub(super) int64: i64,
    pub(super) int64_list: *const i64,
    pub(super) float: f32,
    pub(super) boolean: bool,
}

/// The constants of the C enum `PJRT_NamedValue_Type`.
pub(super) mod named_value {
    pub(in crate::ffi) const STRING: i32 = 0;
    pub(in crate::ffi) const INT64: i32 = 1;
    pub(in crate::ffi) const INT64_LIST: i32 = 2;
    pub(in crate::ffi) const FLOAT: i32 = 3;
    pub(in crate::ffi) const BOOL: i32 = 4;
}

structure! { Program {
    code: *mut c_char,
    code_size: usize,
    format: *const c_char,
    format_size: usize,
} }

structure! { ExecuteOptions {
    send_callbacks: *mut c_void,
    recv_callbacks: *mut c_void,
    num_send_ops: usize,
    num_recv_ops: usize,
    launch_id: c_int,
    non_donatable_input_indices: *const i64,
    num_non_donatable_input_indices: usize,
    context: *mut ExecuteContext,
    call_location: *const c_char,
    num_tasks: usize,
    task_ids: *mut c_int,
    incarnation_ids: *mut i64,
    multi_slice_config: *mut c_void,
    use_major_to_minor_data_layout_for_callbacks: bool,
    hlo_output_callbacks: *mut c_void,
    num_hlo_output_callbacks: usize,
    custom_options: *const NamedValue,
    num_custom_options: usize,
} }

structure! { TiledLayout {
    minor_to_major: *const i64,
    minor_to_major_size: usize,
    tile_dims: *const i64,
    tile_dim_sizes: *const usize,
    num_tiles: usize,
} }

// In C, the layout is a union of a tiled layout and strides. Only the tiled layout, which is larger, is declared here.
structure! { MemoryLayout {
    tiled: TiledLayout,
    kind: c_int,
} }

/// The C constant `PJRT_Buffer_MemoryLayout_Type_Tiled`.
pub(super) const LAYOUT_TILED: c_int = 0;

/// The C constant `PJRT_HostBufferSemantics_kImmutableOnlyDuringCall`: the plugin copies the bytes before the call returns.
pub(super) const COPY_DURING_CALL: c_int = 0;

/// The C constant `PJRT_HostBufferSemantics_kImmutableUntilTransferCompletes`: the plugin may read the bytes until the event of the
/// transfer is ready.
pub(super) const COPY_UNTIL_DONE: c_int = 1;

/// An optional number: a value and whether the plugin set it. In C these are two consecutive fields.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Statistic {
    pub(super) value: i64,
    pub(super) is_set: bool,
}

impl Statistic {
    pub(super) fn get(self) -> Option<i64> {
        self.is_set.then_some(self.value)
    }
}

/// The callback of `PJRT_Event_OnReady`: takes an error that the callee owns, or null, and the caller's pointer.
pub(super) type EventCallback = unsafe extern "C" fn(*mut Error, *mut c_void);

calls! {
    0 "PJRT_Error_Destroy" ErrorDestroy { error: *mut Error, }
    1 "PJRT_Error_Message" ErrorMessage { error: *const Error, message: *const c_char, message_size: usize, }
    2 "PJRT_Error_GetCode" ErrorGetCode { error: *const Error, code: c_int, }
    3 "PJRT_Plugin_Initialize" PluginInitialize { }
    5 "PJRT_Event_Destroy" EventDestroy { event: *mut Event, }
    6 "PJRT_Event_IsReady" EventIsReady { event: *mut Event, is_ready: bool, }
    8 "PJRT_Event_Await" EventAwait { event: *mut Event, }
    9 "PJRT_Event_OnReady" EventOnReady {
        event: *mut Event,
        callback: Option<EventCallback>,
        user_arg: *mut c_void,
    }
    10 "PJRT_Client_Create" ClientCreate {
        create_options: *const NamedValue,
        num_options: usize,
        kv_get_callback: Option<unsafe extern "C" fn(*mut KeyValueGet) -> *mut Error>,
        kv_get_user_arg: *mut c_void,
        kv_put_callback: Option<unsafe extern "C" fn(*mut KeyValuePut) -> *mut Error>,
        kv_put_user_arg: *mut c_void,
        client: *mut Client,
        kv_try_get_callback: Option<unsafe extern "C" fn(*mut KeyValueTryGet) -> *mut Error>,
        kv_try_get_user_arg: *mut c_void,
    }
    11 "PJRT_Client_Destroy" ClientDestroy { client: *mut Client, }
    12 "PJRT_Client_PlatformName" ClientPlatformName {
        client: *mut Client,
        platform_name: *const c_char,
        platform_name_size: usize,
    }
    14 "PJRT_Client_PlatformVersion" ClientPlatformVersion {
        client: *mut Client,
        platform_version: *const c_char,
        platform_version_size: usize,
    }
    15 "PJRT_Client_Devices" ClientDevices {
        client: *mut Client,
        devices: *const *mut Device,
        num_devices: usize,
    }
    16 "PJRT_Client_AddressableDevices" ClientAddressableDevices {
        client: *mut Client,
        devices: *const *mut Device,
        num_devices: usize,
    }
    20 "PJRT_Client_Compile" ClientCompile {
        client: *mut Client,
        program: *const Program,
        compile_options: *const c_char,
        compile_options_size: usize,
        executable: *mut LoadedExecutable,
    }
    22 "PJRT_Client_BufferFromHostBuffer" ClientBufferFromHostBuffer {
        client: *mut Client,
        data: *const c_void,
        element_type: c_int,
        dims: *const i64,
        num_dims: usize,
        byte_strides: *const i64,
        num_byte_strides: usize,
        host_buffer_semantics: c_int,
        device: *mut Device,
        memory: *mut Memory,
        device_layout: *mut MemoryLayout,
        done_with_host_buffer: *mut Event,
        buffer: *mut Buffer,
    }
    23 "PJRT_DeviceDescription_Id" DeviceDescriptionId { description: *mut DeviceDescription, id: c_int, }
    26 "PJRT_DeviceDescription_Kind" DeviceDescriptionKind {
        description: *mut DeviceDescription,
        kind: *const c_char,
        kind_size: usize,
    }
    29 "PJRT_Device_GetDescription" DeviceGetDescription {
        device: *mut Device,
        description: *mut DeviceDescription,
    }
    32 "PJRT_Device_AddressableMemories" DeviceMemories {
        device: *mut Device,
        memories: *const *mut Memory,
        num_memories: usize,
    }
    34 "PJRT_Device_MemoryStats" DeviceMemoryStats {
        device: *mut Device,
        bytes_in_use: i64,
        peak_bytes_in_use: Statistic,
        num_allocs: Statistic,
        largest_alloc_size: Statistic,
        bytes_limit: Statistic,
        bytes_reserved: Statistic,
        peak_bytes_reserved: Statistic,
        bytes_reservable_limit: Statistic,
        largest_free_block_bytes: Statistic,
        pool_bytes: Statistic,
        peak_pool_bytes: Statistic,
    }
    36 "PJRT_Memory_Kind" MemoryKind { memory: *mut Memory, kind: *const c_char, kind_size: usize, }
    40 "PJRT_Executable_Destroy" ExecutableDestroy { executable: *mut Executable, }
    44 "PJRT_Executable_NumOutputs" ExecutableNumOutputs { executable: *mut Executable, num_outputs: usize, }
    45 "PJRT_Executable_SizeOfGeneratedCodeInBytes" ExecutableCodeSize {
        executable: *mut Executable,
        size_in_bytes: i64,
    }
    46 "PJRT_Executable_GetCostAnalysis" ExecutableCostAnalysis {
        executable: *mut Executable,
        num_properties: usize,
        properties: *const NamedValue,
    }
    48 "PJRT_Executable_OptimizedProgram" ExecutableOptimizedProgram {
        executable: *mut Executable,
        program: *mut Program,
    }
    49 "PJRT_Executable_Serialize" ExecutableSerialize {
        executable: *const Executable,
        bytes: *const c_char,
        bytes_size: usize,
        serialized: *mut SerializedExecutable,
        deleter: Option<unsafe extern "C" fn(*mut SerializedExecutable)>,
    }
    50 "PJRT_LoadedExecutable_Destroy" LoadedExecutableDestroy { executable: *mut LoadedExecutable, }
    51 "PJRT_LoadedExecutable_GetExecutable" LoadedExecutableGetExecutable {
        loaded: *mut LoadedExecutable,
        executable: *mut Executable,
    }
    52 "PJRT_LoadedExecutable_AddressableDevices" LoadedExecutableDevices {
        executable: *mut LoadedExecutable,
        devices: *const *mut Device,
        num_devices: usize,
    }
    55 "PJRT_LoadedExecutable_Execute" LoadedExecutableExecute {
        executable: *mut LoadedExecutable,
        options: *mut ExecuteOptions,
        argument_lists: *const *const *mut Buffer,
        num_devices: usize,
        num_args: usize,
        output_lists: *const *mut *mut Buffer,
        device_complete_events: *mut *mut Event,
        execute_device: *mut Device,
    }
    56 "PJRT_Executable_DeserializeAndLoad" ExecutableLoad {
        client: *mut Client,
        bytes: *const c_char,
        bytes_size: usize,
        executable: *mut LoadedExecutable,
        compile_options: *const c_char,
        compile_options_size: usize,
    }
    58 "PJRT_Buffer_Destroy" BufferDestroy { buffer: *mut Buffer, }
    59 "PJRT_Buffer_ElementType" BufferElementType { buffer: *mut Buffer, element_type: c_int, }
    60 "PJRT_Buffer_Dimensions" BufferDimensions { buffer: *mut Buffer, dims: *const i64, num_dims: usize, }
    63 "PJRT_Buffer_GetMemoryLayout" BufferGetMemoryLayout { buffer: *mut Buffer, layout: MemoryLayout, }
    66 "PJRT_Buffer_Memory" BufferMemory { buffer: *mut Buffer, memory: *mut Memory, }
    67 "PJRT_Buffer_Delete" BufferDelete { buffer: *mut Buffer, }
    68 "PJRT_Buffer_IsDeleted" BufferIsDeleted { buffer: *mut Buffer, is_deleted: bool, }
    70 "PJRT_Buffer_ToHostBuffer" BufferToHostBuffer {
        buffer: *mut Buffer,
        host_layout: *mut MemoryLayout,
        destination: *mut c_void,
        destination_size: usize,
        event: *mut Event,
    }
    72 "PJRT_Buffer_ReadyEvent" BufferReadyEvent { buffer: *mut Buffer, event: *mut Event, }
    82 "PJRT_TopologyDescription_Create" TopologyCreate {
        name: *const c_char,
        name_size: usize,
        create_options: *const NamedValue,
        num_options: usize,
        topology: *mut TopologyDescription,
    }
    83 "PJRT_TopologyDescription_Destroy" TopologyDestroy { topology: *mut TopologyDescription, }
    86 "PJRT_TopologyDescription_GetDeviceDescriptions" TopologyDevices {
        topology: *const TopologyDescription,
        descriptions: *const *mut DeviceDescription,
        num_descriptions: usize,
    }
    89 "PJRT_Compile" Compile {
        topology: *const TopologyDescription,
        program: *const Program,
        compile_options: *const c_char,
        compile_options_size: usize,
        client: *mut Client,
        executable: *mut Executable,
    }
    92 "PJRT_Buffer_CopyToMemory" BufferCopyToMemory {
        buffer: *mut Buffer,
        dst_memory: *mut Memory,
        dst_buffer: *mut Buffer,
    }
    96 "PJRT_Executable_GetCompiledMemoryStats" ExecutableMemoryStats {
        executable: *mut Executable,
        generated_code: i64,
        argument: i64,
        output: i64,
        alias: i64,
        temp: i64,
        host_generated_code: i64,
        host_argument: i64,
        host_output: i64,
        host_alias: i64,
        host_temp: i64,
        peak_memory: i64,
        total_size: i64,
        total_allocation: i64,
        indefinite_allocations: i64,
        peak_unpadded_heap: i64,
    }
    98 "PJRT_ExecuteContext_Create" ExecuteContextCreate { context: *mut ExecuteContext, }
    99 "PJRT_ExecuteContext_Destroy" ExecuteContextDestroy { context: *mut ExecuteContext, }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares field offsets with those that a C compiler computes for the same structures on a 64-bit machine.
    #[test]
    fn layouts_are_those_of_the_c_header() {
        assert_eq!(size_of::<ApiTable>(), 40);
        assert_eq!(size_of::<NamedValue>(), 56);
        assert_eq!(size_of::<ClientCreate>(), 88);
        assert_eq!(size_of::<ClientBufferFromHostBuffer>(), 120);
        assert_eq!(size_of::<LoadedExecutableExecute>(), 80);
        assert_eq!(size_of::<ExecuteOptions>(), 160);
        assert_eq!(size_of::<MemoryLayout>(), 80);
        assert_eq!(size_of::<DeviceMemoryStats>(), 192);
        assert_eq!(size_of::<ExecutableMemoryStats>(), 144);
        assert_eq!(std::mem::offset_of!(ExecuteOptions, multi_slice_config), 112);
    }

    #[test]
    fn numbers_of_functions_ascend() {
        assert!(FUNCTIONS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
