//! Arrays that are spread over devices.

use shardc_ir::DType;

use crate::array_type::ArrayType;
use crate::client::Client;
use crate::device::{Buffer, Device};
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;
use crate::layout::{ReplicaDisagreement, ShardLayout};

/// A global array as blocks on devices. Cheap to clone: clones share the devices' memory.
#[derive(Clone, Debug)]
pub struct ShardedArray {
    layout: ShardLayout,
    dtype: DType,
    buffers: Vec<Buffer>,
}

impl ShardedArray {
    /// Spreads an array over devices; `devices[d]` gets the block of the layout's device `d`.
    ///
    /// # Errors
    ///
    /// The array's shape or the number of devices is not the layout's, or a copy fails.
    pub fn from_host(
        client: &Client,
        devices: &[Device],
        layout: ShardLayout,
        array: &HostArray,
    ) -> Result<ShardedArray> {
        check_count(&layout, devices.len())?;
        let buffers = devices
            .iter()
            .enumerate()
            .map(|(d, device)| client.buffer_from_host(&layout.shard(array, d)?, device))
            .collect::<Result<_>>()?;
        Ok(ShardedArray { layout, dtype: array.dtype, buffers })
    }

    /// Takes the blocks that a program left on its devices.
    ///
    /// # Errors
    ///
    /// Their number or their shape is not the layout's, or they have several element types.
    pub fn from_buffers(layout: ShardLayout, buffers: Vec<Buffer>) -> Result<ShardedArray> {
        check_count(&layout, buffers.len())?;
        if let Some(buffer) = buffers.iter().find(|buffer| buffer.shape() != layout.local_shape()) {
            return Err(RuntimeError::Layout(format!(
                "a block of shape {:?} for a layout with blocks of {:?}",
                buffer.shape(),
                layout.local_shape()
            )));
        }
        let Some(dtype) = buffers.first().map(Buffer::dtype) else {
            return Err(RuntimeError::Layout("no devices".to_owned()));
        };
        if let Some(buffer) = buffers.iter().find(|buffer| buffer.dtype() != dtype) {
            return Err(RuntimeError::Layout(format!("blocks of {dtype} and of {}", buffer.dtype())));
        }
        Ok(ShardedArray { layout, dtype, buffers })
    }

    /// How the array is spread.
    #[must_use]
    pub fn layout(&self) -> &ShardLayout {
        &self.layout
    }

    /// The blocks, in the layout's order of devices.
    #[must_use]
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// The blocks alone, in the layout's order of devices.
    #[must_use]
    pub fn into_buffers(self) -> Vec<Buffer> {
        self.buffers
    }

    /// Element type and shape of the whole array.
    #[must_use]
    pub fn ty(&self) -> ArrayType {
        ArrayType { dtype: self.dtype, shape: self.layout.global_shape().to_vec() }
    }

    /// Copies every block to the host, padding and replicas included.
    ///
    /// # Errors
    ///
    /// A copy fails.
    pub fn shards(&self) -> Result<Vec<HostArray>> {
        self.buffers.iter().map(Buffer::to_host).collect()
    }

    /// Puts the array together on the host; of replicas, the first one's block is taken.
    ///
    /// # Errors
    ///
    /// A copy fails, or no device holds some part of the array.
    pub fn to_host(&self) -> Result<HostArray> {
        self.layout.gather(&self.shards()?)
    }

    /// Compares the blocks of devices that hold the same one; see [`ShardLayout::check_replicas`].
    ///
    /// # Errors
    ///
    /// A copy fails.
    pub fn check_replicas(&self) -> Result<Option<ReplicaDisagreement>> {
        self.layout.check_replicas(&self.shards()?)
    }

    /// The argument lists for [`crate::LoadedExecutable::execute`] on `devices` devices: one list for each device,
    /// with one block of each array.
    ///
    /// # Errors
    ///
    /// An array is spread over another number of devices.
    pub fn argument_lists(arrays: &[ShardedArray], devices: usize) -> Result<Vec<Vec<Buffer>>> {
        for array in arrays {
            check_count(&array.layout, devices)?;
        }
        let list = |device: usize| arrays.iter().filter_map(|a| a.buffers.get(device).cloned()).collect();
        Ok((0..devices).map(list).collect())
    }

    /// The arrays that [`crate::LoadedExecutable::execute`] answered, one for each layout.
    ///
    /// # Errors
    ///
    /// The number of results, of devices, or a shape is not the layouts'.
    pub fn from_results(results: &[Vec<Buffer>], layouts: &[ShardLayout]) -> Result<Vec<ShardedArray>> {
        if let Some(list) = results.iter().find(|list| list.len() != layouts.len()) {
            return Err(RuntimeError::Layout(format!(
                "{} results for {} layouts",
                list.len(),
                layouts.len()
            )));
        }
        layouts
            .iter()
            .enumerate()
            .map(|(i, layout)| {
                let buffers = results.iter().filter_map(|list| list.get(i).cloned()).collect();
                ShardedArray::from_buffers(layout.clone(), buffers)
            })
            .collect()
    }
}

fn check_count(layout: &ShardLayout, devices: usize) -> Result<()> {
    if layout.num_devices() == devices {
        return Ok(());
    }
    Err(RuntimeError::Layout(format!("a layout of {} devices on {devices}", layout.num_devices())))
}
