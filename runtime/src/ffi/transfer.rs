//! Transfers: copying host bytes to a device, and keeping them alive until the copy is done.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use shardc_ir::DType;

use super::abi::{self, Call, Structure};
use super::element_types;
use super::handles::{RawBuffer, RawClient, RawDevice, RawEvent, non_null};
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;

/// The argument of a transfer's callback. It keeps the bytes alive until the plugin no longer needs them and calls the callback.
struct Kept {
    event: RawEvent,
    array: Arc<HostArray>,
    release: Box<dyn Fn(Box<dyn Send>) + Send>,
}

impl RawClient {
    /// Copies a dense row-major array to a device; the copy is done on return.
    ///
    /// # Errors
    ///
    /// The data does not have the size of its type and shape, or the device or the plugin does not support the type.
    pub(crate) fn buffer(self: &Arc<Self>, array: &HostArray, device: &RawDevice) -> Result<RawBuffer> {
        // SAFETY: the plugin reads the array before it returns.
        let (buffer, event) = unsafe { self.transfer(array, device, abi::COPY_DURING_CALL) }?;
        // SAFETY: the event was created for this call, and is finished here.
        unsafe { self.api().finish_event(event) }?;
        Ok(buffer)
    }

    /// Starts copying an array to a device, and keeps the array alive until the copy is done. Later errors of the copy are returned by any
    /// use of the buffer.
    ///
    /// # Errors
    ///
    /// The errors of [`RawClient::buffer`].
    pub(crate) fn send(self: &Arc<Self>, array: Arc<HostArray>, device: &RawDevice) -> Result<RawBuffer> {
        let release = Box::new(self.launcher.release()?);
        // SAFETY: the array is kept until the event is ready.
        let (buffer, event) = unsafe { self.transfer(&array, device, abi::COPY_UNTIL_DONE) }?;
        if event.is_null() {
            return Ok(buffer);
        }
        let event = RawEvent { ptr: event, client: self.clone() };
        let ptr = event.ptr;
        let kept = Box::into_raw(Box::new(Kept { event, array, release }));
        let mut arguments = abi::EventOnReady {
            event: ptr,
            callback: Some(on_done),
            user_arg: kept.cast(),
            ..abi::EventOnReady::empty()
        };
        // SAFETY: the event is alive, and is destroyed only after the callback. The callback gets the boxed `Kept`, which it frees once.
        if let Err(error) = unsafe { self.api().call(&mut arguments) } {
            // SAFETY: a callback that was not registered is not called, so this function still owns the box.
            let kept = unsafe { Box::from_raw(kept) };
            // The plugin may still read the array, so this function waits for the event.
            // SAFETY: the event is alive until its handle is dropped.
            let _ =
                unsafe { self.api().call(&mut abi::EventAwait { event: ptr, ..abi::EventAwait::empty() }) };
            drop(kept);
            return Err(error);
        }
        Ok(buffer)
    }

    /// Calls the plugin's transfer; returns the buffer and the event that is ready when the plugin no longer needs the array.
    ///
    /// # Safety
    ///
    /// The array must not be changed for as long as `semantics` requires.
    unsafe fn transfer(
        self: &Arc<Self>,
        array: &HostArray,
        device: &RawDevice,
        semantics: i32,
    ) -> Result<(RawBuffer, *mut abi::Event)> {
        if !Arc::ptr_eq(self, device.client()) {
            return Err(RuntimeError::Argument("the device belongs to another client".to_owned()));
        }
        let HostArray { dtype, shape, data } = array;
        let expected = HostArray::byte_size(*dtype, shape)?;
        if data.len() != expected {
            return Err(RuntimeError::Argument(format!(
                "the data of an array of {dtype}{shape:?} must have {expected} bytes, got {}",
                data.len()
            )));
        }
        self.check()?;
        let dims: Vec<i64> = shape
            .iter()
            .map(|&n| i64::try_from(n).map_err(|_| RuntimeError::Argument(format!("a dimension of {n}"))))
            .collect::<Result<_>>()?;
        let layout = device.layout(dims.len());
        let minor_to_major: Vec<i64> =
            layout.iter().flat_map(|layout| layout.minor_to_major()).map(|&dim| dim as i64).collect();
        let (tile_dims, tile_dim_sizes) = layout.map(|layout| layout.flat_tiles()).unwrap_or_default();
        let mut device_layout = abi::MemoryLayout {
            tiled: abi::TiledLayout {
                minor_to_major: minor_to_major.as_ptr(),
                minor_to_major_size: minor_to_major.len(),
                tile_dims: tile_dims.as_ptr(),
                tile_dim_sizes: tile_dim_sizes.as_ptr(),
                num_tiles: tile_dim_sizes.len(),
                ..abi::TiledLayout::empty()
            },
            kind: abi::LAYOUT_TILED,
            ..abi::MemoryLayout::empty()
        };
        let mut arguments = abi::ClientBufferFromHostBuffer {
            client: self.ptr,
            data: data.as_ptr().cast(),
            element_type: number(*dtype, self)?,
            dims: dims.as_ptr(),
            num_dims: dims.len(),
            host_buffer_semantics: semantics,
            device: device.ptr,
            memory: device.memory,
            device_layout: layout.map_or(ptr::null_mut(), |_| &raw mut device_layout),
            ..abi::ClientBufferFromHostBuffer::empty()
        };
        // SAFETY: client and device are alive; the layout outlives the call, which copies it. `data` has the size of its type and shape,
        // and stays in place for as long as the caller guarantees.
        unsafe { self.api().call(&mut arguments) }?;
        let buffer = non_null(abi::ClientBufferFromHostBuffer::NAME, arguments.buffer)?;
        Ok((RawBuffer { ptr: buffer, client: self.clone() }, arguments.done_with_host_buffer))
    }
}

fn number(dtype: DType, client: &RawClient) -> Result<i32> {
    element_types::number_of(dtype, client.api().version().1)
}

/// Called by the plugin, on any thread, when it no longer needs the bytes of a transfer.
///
/// # Safety
///
/// `kept` must be a [`Kept`] that was boxed for this call; `error` must be null or owned by the callee.
unsafe extern "C" fn on_done(error: *mut abi::Error, kept: *mut c_void) {
    // SAFETY: the caller upholds the conditions in `# Safety`.
    let Kept { event, array, release } = *unsafe { Box::from_raw(kept.cast::<Kept>()) };
    if let Some(error) = NonNull::new(error) {
        // The error is dropped, because the buffer reports it, too.
        // SAFETY: the plugin passes ownership of the error to its callback.
        let _ = unsafe { event.client.api().take_error(abi::ClientBufferFromHostBuffer::NAME, error) };
    }
    release(Box::new((event, array)));
}
