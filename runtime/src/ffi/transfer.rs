//! Transfers: how bytes of the host are copied to a device, and who keeps them until that is done.

use std::ffi::c_void;
use std::ptr::{self, NonNull};
use std::sync::Arc;

use shardc_ir::DType;

use super::abi::{self, Call, Structure};
use super::element_types;
use super::handles::{RawBuffer, RawClient, RawDevice, RawEvent, non_null};
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;

/// What the event of a transfer gets, when the plugin needs the bytes no longer.
struct Kept {
    event: RawEvent,
    array: Arc<HostArray>,
    release: Box<dyn Fn(Box<dyn Send>) + Send>,
}

impl RawClient {
    /// Copies a dense row-major array to a device before it returns.
    ///
    /// # Errors
    ///
    /// The data has another size than type and shape ask for, or the device or the plugin does not take it.
    pub(crate) fn buffer(self: &Arc<Self>, array: &HostArray, device: &RawDevice) -> Result<RawBuffer> {
        // SAFETY: the plugin reads the array before it returns.
        let (buffer, event) = unsafe { self.transfer(array, device, abi::COPY_DURING_CALL) }?;
        // SAFETY: the event was made for this call, and is given up here.
        unsafe { self.api().finish_event(event) }?;
        Ok(buffer)
    }

    /// Begins to copy an array to a device, and keeps it until that is done. What goes wrong later is told by the buffer.
    ///
    /// # Errors
    ///
    /// Those of [`RawClient::buffer`].
    pub(crate) fn send(self: &Arc<Self>, array: Arc<HostArray>, device: &RawDevice) -> Result<RawBuffer> {
        let release = Box::new(self.launcher.release()?);
        // SAFETY: the array is kept until the event has happened.
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
        // SAFETY: the event is alive, and is destroyed only after the callback; the callback gets what is kept, which it frees,
        // once.
        if let Err(error) = unsafe { self.api().call(&mut arguments) } {
            // SAFETY: a callback that was not registered is not called, so what is kept is still ours.
            let kept = unsafe { Box::from_raw(kept) };
            // The plugin may still read it: it has to be waited for.
            // SAFETY: the event is alive; it goes with its handle.
            let _ =
                unsafe { self.api().call(&mut abi::EventAwait { event: ptr, ..abi::EventAwait::empty() }) };
            drop(kept);
            return Err(error);
        }
        Ok(buffer)
    }

    /// Calls for a transfer; returns the event of the plugin's being done with the array.
    ///
    /// # Safety
    ///
    /// The array must stay as it is for as long as `semantics` says.
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
                "an array of {dtype}{shape:?} takes {expected} bytes and has {}",
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
        // SAFETY: client and device are alive; the layout outlives the call, which copies it; `data` has the size that type and shape ask for, and stays in place
        // for as long as the caller promises.
        unsafe { self.api().call(&mut arguments) }?;
        let buffer = non_null(abi::ClientBufferFromHostBuffer::NAME, arguments.buffer)?;
        Ok((RawBuffer { ptr: buffer, client: self.clone() }, arguments.done_with_host_buffer))
    }
}

fn number(dtype: DType, client: &RawClient) -> Result<i32> {
    element_types::number_of(dtype, client.api().version().1)
}

/// Called by the plugin, on any thread, when it needs the bytes of a transfer no longer.
///
/// # Safety
///
/// `kept` must be a [`Kept`] that was boxed for this call, `error` null or an error that the callee owns.
unsafe extern "C" fn on_done(error: *mut abi::Error, kept: *mut c_void) {
    // SAFETY: the caller's promise.
    let Kept { event, array, release } = *unsafe { Box::from_raw(kept.cast::<Kept>()) };
    if let Some(error) = NonNull::new(error) {
        // The buffer tells of it as well.
        // SAFETY: the plugin gives the error up to its callback.
        let _ = unsafe { event.client.api().take_error(abi::ClientBufferFromHostBuffer::NAME, error) };
    }
    release(Box::new((event, array)));
}
