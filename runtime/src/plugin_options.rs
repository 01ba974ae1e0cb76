//! Options for the creation of a client, by kind of plugin.

use std::borrow::Cow;
use std::path::Path;

use crate::error::{Result, RuntimeError};

/// Maximum number of the CPU plugin's virtual devices for one program. The plugin treats devices with higher IDs as devices of another
/// process, and rejects programs for them.
pub const MAX_CPU_DEVICES: usize = 2048;

/// Options of a client of the CPU plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientOptions {
    /// The number of virtual devices; `None` for the plugin's default (4). Other plugins reject this option.
    pub cpu_device_count: Option<usize>,
}

/// Options of a client of the CUDA plugin; `None` or an empty list is the plugin's default.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CudaOptions {
    /// The allocator of a GPU's memory.
    pub allocator: Option<CudaAllocator>,
    /// The maximum fraction of a GPU's memory that an allocator with a pool may use, above 0 and at most 1.
    pub memory_fraction: Option<f32>,
    /// Whether an allocator with a pool allocates [`CudaOptions::memory_fraction`] of the memory at the start.
    pub preallocate: Option<bool>,
    /// The bytes of the memory of each GPU that are reserved for collectives.
    pub collective_memory: Option<u64>,
    /// The indices of this machine's GPUs to use; all if empty.
    pub visible_devices: Vec<u32>,
}

/// An allocator of a GPU's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CudaAllocator {
    /// XLA's memory pool, which allocates by best fit with coalescing.
    Bfc,
    /// The memory pool of the driver (`cudaMallocAsync`).
    CudaAsync,
    /// Each allocation calls the driver: this is slow, but no memory is retained.
    Platform,
}

/// Options of a client, by kind of plugin.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum PluginOptions {
    /// The plugin's defaults.
    #[default]
    Default,
    /// Options of the CPU plugin.
    Cpu(ClientOptions),
    /// Options of the CUDA plugin.
    Cuda(CudaOptions),
}

impl From<ClientOptions> for PluginOptions {
    fn from(options: ClientOptions) -> PluginOptions {
        PluginOptions::Cpu(options)
    }
}

impl From<CudaOptions> for PluginOptions {
    fn from(options: CudaOptions) -> PluginOptions {
        PluginOptions::Cuda(options)
    }
}

/// The value of an option, in the types that plugins support.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Text(Cow<'static, str>),
    Int(i64),
    Ints(Vec<i64>),
    Float(f32),
    Bool(bool),
}

impl PluginOptions {
    /// The values of the options that are set, with the plugin's names of the options.
    pub(crate) fn values(&self) -> Result<Vec<(&'static str, Value)>> {
        match self {
            PluginOptions::Default => Ok(Vec::new()),
            PluginOptions::Cpu(options) => match options.cpu_device_count {
                None => Ok(Vec::new()),
                Some(count) if count == 0 || count > MAX_CPU_DEVICES => {
                    Err(RuntimeError::DeviceLimit { wanted: count, limit: MAX_CPU_DEVICES })
                }
                Some(count) => Ok(vec![("cpu_device_count", Value::Int(count as i64))]),
            },
            PluginOptions::Cuda(options) => options.values(),
        }
    }
}

impl CudaOptions {
    fn values(&self) -> Result<Vec<(&'static str, Value)>> {
        let mut values = Vec::new();
        if let Some(allocator) = self.allocator {
            let name = match allocator {
                CudaAllocator::Bfc => "bfc",
                CudaAllocator::CudaAsync => "cuda_async",
                CudaAllocator::Platform => "platform",
            };
            values.push(("allocator", Value::Text(name.into())));
        }
        if let Some(part) = self.memory_fraction {
            if !(part > 0.0 && part <= 1.0) {
                let text = format!("memory_fraction must be above 0 and at most 1, got {part}");
                return Err(RuntimeError::Argument(text));
            }
            values.push(("memory_fraction", Value::Float(part)));
        }
        values.extend(self.preallocate.map(|yes| ("preallocate", Value::Bool(yes))));
        if let Some(bytes) = self.collective_memory {
            let text = || RuntimeError::Argument(format!("cannot reserve {bytes} bytes for collectives"));
            values.push(("collective_memory_size", Value::Int(i64::try_from(bytes).map_err(|_| text())?)));
        }
        if !self.visible_devices.is_empty() {
            let numbers = self.visible_devices.iter().map(|&n| i64::from(n)).collect();
            values.push(("visible_devices", Value::Ints(numbers)));
        }
        Ok(values)
    }
}

/// Parts of XLA's error messages on a machine without a GPU or a driver.
const NO_GPU: [&str; 5] = [
    "CUDA_ERROR_NO_DEVICE",
    "no CUDA-capable device",
    "No visible GPU devices",
    "no supported devices found",
    "Failed to load libcuda",
];

/// Converts an error of the creation of a client. If the machine lacks the GPU or its driver, returns an error that reports this; otherwise
/// returns the error unchanged.
pub(crate) fn without_hardware(error: RuntimeError, plugin: &Path) -> RuntimeError {
    match error {
        RuntimeError::Pjrt { message, .. } if NO_GPU.iter().any(|words| message.contains(words)) => {
            RuntimeError::NoGpu { plugin: plugin.to_owned(), message }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_the_names_of_the_plugin() {
        let options = CudaOptions {
            allocator: Some(CudaAllocator::CudaAsync),
            memory_fraction: Some(0.5),
            preallocate: Some(false),
            collective_memory: Some(1 << 20),
            visible_devices: vec![0, 2],
        };
        let values = PluginOptions::from(options.clone()).values().unwrap();
        assert_eq!(
            values,
            [
                ("allocator", Value::Text("cuda_async".into())),
                ("memory_fraction", Value::Float(0.5)),
                ("preallocate", Value::Bool(false)),
                ("collective_memory_size", Value::Int(1 << 20)),
                ("visible_devices", Value::Ints(vec![0, 2])),
            ]
        );
        for part in [0.0, 1.5, f32::NAN] {
            let wrong = CudaOptions { memory_fraction: Some(part), ..options.clone() };
            assert_eq!(PluginOptions::from(wrong).values().unwrap_err().code(), "RT0301");
        }
        assert_eq!(PluginOptions::from(CudaOptions::default()).values().unwrap(), []);
    }
}
