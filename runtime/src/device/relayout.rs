//! Creates arrays in a memory layout other than the plugin's default.

use std::sync::Arc;

use shardc_ir::DType;

use crate::array_type::ArrayType;
use crate::device::Buffer;
use crate::device_layout::DeviceLayout;
use crate::error::{Result, RuntimeError};
use crate::ffi::{self, LaunchOptions, RawBuffer, RawClient, RawDevice, RawProgram};
use crate::host::HostArray;
use crate::options::CompileOptions;

/// Copies an array to a device in the layout `layout`. Returns when the copy is done.
///
/// # Errors
///
/// [`RuntimeError::DeviceLayout`] if the plugin produces no array with this layout.
pub(crate) fn put(array: &HostArray, device: &RawDevice, layout: &Arc<DeviceLayout>) -> Result<Buffer> {
    let client = device.client();
    let requested = device.with_layout(Some(layout.clone()));
    let raw = if client.honors_layout(layout, || honors(array.dtype, &requested, layout)) {
        client.buffer(array, &requested)?
    } else {
        converted(array, device, layout)?
    };
    if raw.layout()?.is_none_or(|found| !found.has_same_order(layout, &array.shape)) {
        return Err(unsupported(array, layout));
    }
    Ok(Buffer::new(raw, device.id)?.in_layout(Some(layout.clone())))
}

fn unsupported(array: &HostArray, layout: &DeviceLayout) -> RuntimeError {
    RuntimeError::DeviceLayout { ty: array.ty().to_string(), layout: layout.to_string() }
}

/// Returns whether a transfer that requests a layout really stores the elements in that layout. For the test, a small array is copied to
/// the device, and read back in the dimension order that the plugin reports. If the plugin only reports the layout without using it, the
/// elements differ.
fn honors(dtype: DType, device: &RawDevice, layout: &DeviceLayout) -> bool {
    let shape: Vec<usize> = (0..layout.rank()).map(|dim| 2 + dim % 3).collect();
    let probe = || -> Result<bool> {
        let array = HostArray::random(0, dtype, &shape)?;
        let raw = device.client().buffer(&array, device)?;
        let is_stored_so = raw.layout()?.is_some_and(|found| found.has_same_order(layout, &shape));
        Ok(is_stored_so && raw.to_host(dtype, &shape)? == array.data)
    };
    probe().unwrap_or(false)
}

/// Copies an array to a device, and converts it to a layout by a compiled identity function: the compiler supports result layouts by
/// `mhlo.layout_mode`, even if transfers do not.
fn converted(array: &HostArray, device: &RawDevice, layout: &DeviceLayout) -> Result<RawBuffer> {
    let client = device.client();
    let ty = array.ty();
    // XLA's CPU compiler aborts the process if it transposes elements smaller than a byte.
    if array.dtype.bits() < 8 && array.dtype != DType::I1 {
        return Err(unsupported(array, layout));
    }
    let code = format!(
        "func.func public @main(%x: {ty} {{mhlo.layout_mode = \"default\"}}) -> ({ty} {{mhlo.layout_mode = \"{layout}\"}}) {{\n  \
         return %x : {ty}\n}}\n"
    );
    let options = CompileOptions::replicas(1).encode(&[device.id]);
    let program = RawProgram::compile(client, code.as_bytes(), &options);
    let program = Arc::new(program.map_err(|_| unsupported(array, layout))?);
    let argument = client.buffer(array, &device.with_layout(None).in_default_memory())?;
    let launched = ffi::launch(
        &program,
        vec![vec![Arc::new(argument)]],
        LaunchOptions { donated: &[], limit: None, in_flight: usize::MAX, parents: Vec::new() },
    )?;
    launched.flight.wait()?;
    let result = launched.results.into_iter().flatten().next();
    let result = result.ok_or_else(|| unsupported(array, layout))?;
    if device.uses_default_memory() { Ok(result) } else { result.copy_to(device) }
}

/// Returns the layouts `found`, with `None` for each layout that is unknown or has the dimension order of the client's default layout.
pub(crate) fn unlike_default(
    client: &Arc<RawClient>,
    types: &[ArrayType],
    found: impl IntoIterator<Item = Option<DeviceLayout>>,
) -> Result<Vec<Option<Arc<DeviceLayout>>>> {
    let one = |(ty, found): (&ArrayType, Option<DeviceLayout>)| {
        let Some(found) = found.filter(|layout| layout.rank() == ty.shape.len()) else { return Ok(None) };
        Ok((!found.has_same_order(&default_layout(client, ty)?, &ty.shape)).then(|| Arc::new(found)))
    };
    types.iter().zip(found).map(one).collect()
}

/// The client's default layout for arrays of this type.
pub(crate) fn default_layout(client: &Arc<RawClient>, ty: &ArrayType) -> Result<DeviceLayout> {
    let known = client.default_layout(ty.dtype, &ty.shape)?;
    Ok(known.unwrap_or_else(|| DeviceLayout::row_major(ty.shape.len())))
}
