//! Memory layouts: the parameters' layouts that executables expect, the layouts of buffers, and a client's default layouts.
//!
//! Layouts are read through the Layouts extension of the C API. If a plugin lacks the extension, the older function
//! `PJRT_Buffer_GetMemoryLayout` is used for buffers. If a plugin has neither, the layout is unknown (`None`).

use std::ptr::NonNull;
use std::sync::Arc;

use shardc_ir::DType;

use super::abi::{self, Structure};
use super::api::{Api, slice, text};
use super::element_types;
use super::executables::RawExecutable;
use super::handles::{RawBuffer, RawClient};
use super::xla_abi::ExtensionBase;
use crate::device_layout::DeviceLayout;
use crate::error::{PjrtCode, Result, RuntimeError};

/// The number of the Layouts extension: `PJRT_Extension_Type_Layouts`.
const LAYOUTS: std::ffi::c_int = 4;

impl Api {
    /// Returns the function at this offset in bytes of the Layouts extension; `None` if the plugin does not have it.
    fn layouts_function(&self, offset: usize) -> Option<NonNull<std::ffi::c_void>> {
        let mut next = self.extensions().cast::<ExtensionBase>();
        while let Some(extension) = NonNull::new(next) {
            // SAFETY: the plugin's list of extensions is constant; each begins with this base.
            let base = unsafe { extension.as_ref() };
            if base.kind == LAYOUTS {
                if offset + size_of::<usize>() > base.struct_size {
                    return None;
                }
                // SAFETY: the extension has the length that its size field states, and the pointer is within it and aligned.
                let function = unsafe { extension.byte_add(offset).cast::<*mut std::ffi::c_void>().read() };
                return NonNull::new(function);
            }
            next = base.next;
        }
        None
    }

    /// Calls a function of the Layouts extension; returns `false` if the plugin has no such function or does not implement it.
    ///
    /// # Safety
    ///
    /// `C` must be the argument structure of the function at `C::OFFSET`, with valid pointers.
    unsafe fn call_layouts<C: LayoutsCall>(&self, arguments: &mut C) -> Result<bool> {
        let Some(function) = self.layouts_function(C::OFFSET) else { return Ok(false) };
        // SAFETY: every function of the extension has this signature.
        let function: unsafe extern "C" fn(*mut C) -> *mut abi::Error =
            unsafe { std::mem::transmute(function.as_ptr()) };
        // SAFETY: the caller upholds the conditions in `# Safety`.
        match NonNull::new(unsafe { function(arguments) }) {
            None => Ok(true),
            // SAFETY: the call has just created this error for its caller.
            Some(error) => match unsafe { self.take_error(C::NAME, error) } {
                RuntimeError::Pjrt { code: PjrtCode::UNIMPLEMENTED, .. } => Ok(false),
                error => Err(error),
            },
        }
    }

    /// Reads the plugin's layout object; `None` if it is null or in a form that shardc does not support.
    ///
    /// # Safety
    ///
    /// `layout` must be null or an object of this plugin.
    unsafe fn read_layout(&self, layout: *mut abi::LayoutsMemoryLayout) -> Result<Option<DeviceLayout>> {
        if layout.is_null() {
            return Ok(None);
        }
        let mut arguments = Serialize { layout, ..Serialize::empty() };
        // SAFETY: the layout is alive; its text lives until the deleter is called, after it has been copied.
        unsafe {
            if !self.call_layouts(&mut arguments)? {
                return Ok(None);
            }
            let text = text(arguments.bytes, arguments.bytes_size);
            if let Some(deleter) = arguments.deleter {
                deleter(arguments.serialized);
            }
            Ok(DeviceLayout::parse(&text))
        }
    }

    /// Reads a layout object that the caller owns, and destroys it.
    ///
    /// # Safety
    ///
    /// `layout` must be null or an object of this plugin, and the caller gives up ownership.
    unsafe fn take_layout(&self, layout: *mut abi::LayoutsMemoryLayout) -> Result<Option<DeviceLayout>> {
        if layout.is_null() {
            return Ok(None);
        }
        // SAFETY: the caller upholds the conditions in `# Safety`.
        unsafe {
            let read = self.read_layout(layout);
            self.call_layouts(&mut Destroy { layout, ..Destroy::empty() })?;
            read
        }
    }
}

impl RawExecutable {
    /// Returns the layouts that the program expects its parameters to have; `None` if the plugin does not report them.
    pub(crate) fn parameter_layouts(&self) -> Result<Option<Vec<DeviceLayout>>> {
        let mut arguments = ParameterLayouts { executable: self.ptr, ..ParameterLayouts::empty() };
        // SAFETY: the executable is alive, and the layouts belong to it.
        unsafe {
            if !self.api().call_layouts(&mut arguments)? {
                return Ok(None);
            }
            slice(arguments.layouts, arguments.count).iter().map(|&l| self.api().read_layout(l)).collect()
        }
    }
}

impl RawBuffer {
    /// Returns the buffer's memory layout; `None` if the plugin does not report it.
    pub(crate) fn layout(&self) -> Result<Option<DeviceLayout>> {
        let api = self.client.api();
        let mut arguments = BufferLayout { buffer: self.ptr, ..BufferLayout::empty() };
        // SAFETY: the buffer is alive, and the caller owns the layout.
        unsafe {
            if api.call_layouts(&mut arguments)?
                && let Some(layout) = api.take_layout(arguments.layout)?
            {
                return Ok(Some(layout));
            }
        }
        let mut arguments = abi::BufferGetMemoryLayout {
            buffer: self.ptr,
            layout: abi::MemoryLayout::empty(),
            ..abi::BufferGetMemoryLayout::empty()
        };
        // SAFETY: the buffer is alive, and the lists belong to it.
        unsafe {
            match api.call(&mut arguments) {
                Ok(()) => {}
                Err(
                    RuntimeError::PluginLacks { .. }
                    | RuntimeError::Pjrt { code: PjrtCode::UNIMPLEMENTED, .. },
                ) => return Ok(None),
                Err(error) => return Err(error),
            }
            if arguments.layout.kind != abi::LAYOUT_TILED {
                return Ok(None);
            }
            let tiled = &arguments.layout.tiled;
            let sizes = slice(tiled.tile_dim_sizes, tiled.num_tiles);
            let mut dims = slice(tiled.tile_dims, sizes.iter().sum());
            let mut tiles = Vec::with_capacity(sizes.len());
            for &size in sizes {
                let Some((tile, rest)) = dims.split_at_checked(size) else { return Ok(None) };
                tiles.push(tile.to_vec());
                dims = rest;
            }
            let order = slice(tiled.minor_to_major, tiled.minor_to_major_size);
            Ok(DeviceLayout::from_numbers(order, &tiles))
        }
    }
}

impl RawClient {
    /// Returns the default layout of arrays of this element type and shape; `None` if the plugin does not report it.
    pub(crate) fn default_layout(
        self: &Arc<Self>,
        dtype: DType,
        shape: &[usize],
    ) -> Result<Option<DeviceLayout>> {
        let dims: Vec<i64> = shape.iter().map(|&n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
        let mut arguments = DefaultLayout {
            client: self.ptr,
            element_type: element_types::number_of(dtype, self.api().version().1)?,
            dims: dims.as_ptr(),
            num_dims: dims.len(),
            ..DefaultLayout::empty()
        };
        // SAFETY: the client is alive, the dimensions outlive the call, and the caller owns the layout.
        unsafe {
            if !self.api().call_layouts(&mut arguments)? {
                return Ok(None);
            }
            self.api().take_layout(arguments.layout)
        }
    }
}

/// The argument structure of a function of the Layouts extension.
///
/// # Safety
///
/// `OFFSET` must be the offset, in the extension's structure, of the function that takes this argument structure.
unsafe trait LayoutsCall: Structure {
    /// The offset in bytes of the function pointer in the extension's structure.
    const OFFSET: usize;
    /// The function's name in the C header.
    const NAME: &'static str;
}

/// Declares the argument structures of the extension's functions, with their offsets in the extension struct.
macro_rules! layouts_calls {
    ($($slot:literal $function:literal $name:ident { $($field:ident: $ty:ty,)* })*) => {
        $(
            abi::structure! { $name { $($field: $ty,)* } }
            // SAFETY: offset and fields are those of `pjrt_c_api_layouts_extension.h`, version 4.
            unsafe impl LayoutsCall for $name {
                const OFFSET: usize = size_of::<ExtensionBase>() + $slot * size_of::<usize>();
                const NAME: &'static str = $function;
            }
        )*
    };
}

layouts_calls! {
    0 "PJRT_Layouts_MemoryLayout_Destroy" Destroy { layout: *mut abi::LayoutsMemoryLayout, }
    1 "PJRT_Layouts_MemoryLayout_Serialize" Serialize {
        layout: *mut abi::LayoutsMemoryLayout,
        bytes: *const std::ffi::c_char,
        bytes_size: usize,
        serialized: *mut abi::LayoutsSerialized,
        deleter: Option<unsafe extern "C" fn(*mut abi::LayoutsSerialized)>,
    }
    2 "PJRT_Layouts_PJRT_Client_GetDefaultLayout" DefaultLayout {
        client: *mut abi::Client,
        element_type: std::ffi::c_int,
        dims: *const i64,
        num_dims: usize,
        layout: *mut abi::LayoutsMemoryLayout,
    }
    3 "PJRT_Layouts_PJRT_Buffer_MemoryLayout" BufferLayout {
        buffer: *mut abi::Buffer,
        layout: *mut abi::LayoutsMemoryLayout,
    }
    6 "PJRT_Layouts_PJRT_Executable_GetParameterLayouts" ParameterLayouts {
        executable: *mut abi::Executable,
        count: usize,
        layouts: *const *mut abi::LayoutsMemoryLayout,
    }
}
