//! The description of one kind of device.

use std::borrow::Cow;

use crate::traffic::Traffic;

/// The kind of a device: which plugin compiles for it, and which links connect it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DeviceKind {
    /// A virtual device of a CPU.
    Cpu,
    /// An NVIDIA GPU.
    Gpu,
    /// A TensorCore, or a TPU chip whose TensorCores act as one device.
    Tpu,
}

/// The number formats with different peak rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// 64-bit floating point.
    F64,
    /// 32-bit floating point, with the default precision of XLA: TF32 on GPUs, bf16 passes on TPUs.
    F32,
    /// 16-bit floating point: `bf16` and `f16`.
    F16,
    /// 8-bit floating point.
    F8,
    /// 8-bit integers.
    I8,
}

/// Peak rates of matrix units, in operations per second. An addition and a multiplication are two operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Peaks {
    /// For [`Number::F64`].
    pub f64: f64,
    /// For [`Number::F32`].
    pub f32: f64,
    /// For [`Number::F16`].
    pub f16: f64,
    /// For [`Number::F8`].
    pub f8: f64,
    /// For [`Number::I8`].
    pub i8: f64,
}

impl Peaks {
    /// Returns the peak rate for a number format.
    #[must_use]
    pub fn of(&self, number: Number) -> f64 {
        match number {
            Number::F64 => self.f64,
            Number::F32 => self.f32,
            Number::F16 => self.f16,
            Number::F8 => self.f8,
            Number::I8 => self.i8,
        }
    }
}

/// A link between devices.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The name in reports: `ICI`, `NVLink`.
    pub name: Cow<'static, str>,
    /// Bytes per second that one device can send over one link in one direction.
    pub bandwidth: f64,
    /// Seconds between the first byte sent and the first byte received, for one hop.
    pub latency: f64,
}

/// How devices are connected.
#[derive(Clone, Debug, PartialEq)]
pub enum Network {
    /// A torus of chips: each chip has a link in each direction of each dimension. Slices are connected by the data-center network.
    Torus {
        /// The link between neighbors.
        link: Link,
        /// The number of dimensions: 2 or 3.
        rank: usize,
        /// A dimension wraps around if its size is a multiple of this number.
        wraps_at: u32,
        /// The devices of a chip.
        per_chip: u32,
        /// The largest slice: no grid has more chips.
        largest: &'static [u32],
        /// The link between the devices of a chip.
        on_chip: Link,
        /// The link of one device to other slices.
        between_slices: Link,
    },
    /// Hosts whose devices are connected by a switch, or by the host's bus.
    Hosts {
        /// The link of a device to the devices of its host.
        link: Link,
        /// The usual number of devices of a host.
        per_host: u32,
        /// The link of one device to other hosts.
        between_hosts: Link,
    },
}

/// The properties of a compiler that decide which values are in memory, and how many bytes they take.
///
/// The rows are measurements of libtpu 0.0.51 and of XLA's GPU compiler (`docs/QUALITY.md`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompilerModel {
    /// Whether tensors are stored in tiles of 8 by 128 elements of 32 bits.
    pub is_tiled: bool,
    /// The minimum size of a buffer in bytes.
    pub smallest_buffer: u64,
    /// Bytes of on-chip memory for temporaries. If all temporaries fit, none are in main memory.
    pub fast_memory: u64,
    /// Whether a matmul is a separate kernel, which reads its operands from memory and writes its result there.
    pub multiplies_alone: bool,
    /// Whether a quotient that several matmuls read is computed once and kept, not recomputed in each matmul.
    pub keeps_shared_quotients: bool,
    /// Whether the result of an element-wise operation and an operand that no matmul produces are in memory at the same time.
    pub writes_beside_computed: bool,
    /// Whether gathers run on cores of their own (SparseCore), beside other operations.
    pub looks_up_beside: bool,
    /// Whether recomputation is decided by the number of elements, not by bytes.
    pub counts_elements: bool,
    /// The divisor of the fraction of live bytes that heap fragmentation takes; 0 if there is none.
    pub fragmentation: u64,
    /// The collectives that overlap with computation. The device waits for the others.
    pub overlapped: &'static [Traffic],
    /// Those of `overlapped` that proceed only beside matmuls, into whose kernels the compiler fuses their steps.
    pub beside_matmuls: &'static [Traffic],
}

/// The description of a GPU for XLA's compiler, beyond the fields of its [`TargetSpec`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GpuDescription {
    /// The driver's name of the GPU.
    pub name: &'static str,
    /// The major and minor number of the compute capability.
    pub capability: (u32, u32),
    /// Whether the GPU has architecture-specific instructions such as `wgmma` (`sm_90a`).
    pub is_accelerated: bool,
    /// The number of streaming multiprocessors.
    pub multiprocessors: u32,
    /// 32-bit floating-point units of a multiprocessor.
    pub units: u32,
    /// The maximum number of resident threads of a multiprocessor.
    pub threads: u32,
    /// Bytes of shared memory of a multiprocessor.
    pub shared: u32,
    /// Bytes of the L2 cache.
    pub l2: u64,
    /// The clock rate in GHz.
    pub gigahertz: f64,
    /// Bytes of memory, as the driver reports them.
    pub memory: u64,
}

/// One kind of device.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetSpec {
    /// The name in targets: `v5e`, `h100`.
    pub name: Cow<'static, str>,
    /// The kind of device.
    pub kind: DeviceKind,
    /// Peak rates of the matrix units.
    pub peaks: Peaks,
    /// Peak rate of element-wise 32-bit arithmetic, in operations per second.
    pub vector_peak: f64,
    /// Bytes of memory that a program can use; 0 if the memory is shared with the host.
    pub memory: u64,
    /// Bytes per second between memory and arithmetic units.
    pub bandwidth: f64,
    /// Bytes per second between host memory and device memory.
    pub host_bandwidth: f64,
    /// Seconds to start a collective, a matmul or a convolution.
    pub launch: f64,
    /// Seconds to start any other kernel. On TPUs, this includes the latency of main memory.
    pub kernel_start: f64,
    /// How devices are connected.
    pub network: Network,
    /// The properties of the compiler that decide what is in memory.
    pub compiler: CompilerModel,
    /// For a GPU, its description for XLA's compiler; `None` if programs cannot be compiled without the device.
    pub gpu: Option<GpuDescription>,
}

/// The rates by which planning compares alternatives. The unit of cost is one byte that a device sends over its fastest link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlanningRates {
    /// The cost of starting a collective.
    pub start: f64,
    /// The cost of one byte of memory traffic.
    pub per_memory_byte: f64,
    /// The cost of one floating-point operation.
    pub per_flop: f64,
}

impl TargetSpec {
    /// The fastest link to another chip or host.
    #[must_use]
    pub fn link(&self) -> &Link {
        match &self.network {
            Network::Torus { link, .. } | Network::Hosts { link, .. } => link,
        }
    }

    /// The rates of planning.
    #[must_use]
    pub fn planning_rates(&self) -> PlanningRates {
        let sent = self.link().bandwidth;
        PlanningRates {
            start: self.launch * sent,
            per_memory_byte: sent / self.bandwidth,
            per_flop: sent / self.peaks.f16,
        }
    }
}
