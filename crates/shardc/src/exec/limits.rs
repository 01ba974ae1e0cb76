//! Limits on the memory and time of an execution on this machine, and estimates of the memory that it needs.

use std::time::Duration;

use shardc_ir::{DType, DTypeClass};
use shardc_passes::sharding::interface::{Interface, InterfaceTensor};
use shardc_runtime::{ExecuteOptions, HostArray, MemoryLimit, MemoryNeed};

use super::Program;

/// The limits of an execution.
///
/// The memory of an execution is compared with the limit twice: before compilation, as estimated by [`run_need`]; and before data is sent
/// to a device, as reported by the back end's compiler (arguments, results and temporaries of each device). The memory of compilation
/// itself is not known in advance. Only the CPU plugin's devices use this machine's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The limit on this machine's memory; by default the available memory.
    pub memory: MemoryLimit,
    /// The time limit of one execution; half an hour by default, `None` for no limit.
    pub time: Option<Duration>,
    /// The number of elements that each device may compute in the interpreter, where a matmul counts its multiplications; `None`, the default,
    /// for no limit. Plugins ignore it.
    pub work: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { memory: MemoryLimit::default(), time: ExecuteOptions::default().time_limit, work: None }
    }
}

/// Bytes of full arrays on the host.
pub(super) fn on_host(tensors: &[InterfaceTensor]) -> u64 {
    sum(tensors.iter().map(|t| t.global.num_bytes().and_then(|n| u64::try_from(n).ok()).unwrap_or(u64::MAX)))
}

/// Bytes of the blocks of arrays on all devices.
pub(super) fn on_devices(interface: &Interface, tensors: &[InterfaceTensor]) -> u64 {
    let devices = interface.mesh.num_devices() as u64;
    let block = |t: &InterfaceTensor| {
        let elements = t.local_shape.iter().try_fold(1u64, |all, &n| all.checked_mul(u64::try_from(n).ok()?));
        elements.map_or(u64::MAX, |n| n.saturating_mul(t.global.dtype.bytes() as u64)).saturating_mul(devices)
    };
    sum(tensors.iter().map(block))
}

fn sum(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add)
}

/// The minimum memory of this machine that a partitioned program needs on virtual devices: inputs and outputs, on the host and on the
/// devices. Temporaries, which are known only after compilation, are not included.
#[must_use]
pub fn run_need(interface: &Interface) -> MemoryNeed {
    let devices = interface.mesh.num_devices();
    let mut need = MemoryNeed::default();
    need.add("inputs on the host", on_host(&interface.inputs));
    need.add(format!("inputs on {devices} devices"), on_devices(interface, &interface.inputs));
    need.add(format!("outputs on {devices} devices"), on_devices(interface, &interface.outputs));
    need.add("outputs on the host", on_host(&interface.outputs));
    need
}

/// The minimum memory for verifying a partitioned program: the larger of the memory of the single-device execution and of the partitioned
/// execution, including the arrays that are kept for the comparison.
pub(super) fn verify_need(interface: &Interface) -> MemoryNeed {
    let (inputs, outputs) = (on_host(&interface.inputs), on_host(&interface.outputs));
    let mut single = MemoryNeed::default();
    single.add("inputs on the host", inputs);
    single.add("inputs on one device", inputs);
    single.add("outputs on one device", outputs);
    single.add("outputs on the host", outputs);
    let mut partitioned = run_need(interface);
    partitioned.add("outputs of the single-device execution", outputs);
    if single.total() > partitioned.total() { single } else { partitioned }
}

/// Bytes of the distinct blocks of arrays: in the interpreter, devices that hold the same block share its elements.
fn distinct_blocks(interface: &Interface, tensors: &[InterfaceTensor]) -> u64 {
    let bytes = |tensor: &InterfaceTensor| {
        let mesh = interface.mesh_of(tensor);
        let blocks = tensor.sharding.dims.iter().map(|dim| mesh.axes_size(&dim.axes) as u64);
        let sizes = tensor.local_shape.iter().map(|&n| u64::try_from(n).unwrap_or(u64::MAX));
        blocks.chain(sizes).fold(tensor.global.dtype.bytes() as u64, u64::saturating_mul)
    };
    sum(tensors.iter().map(bytes))
}

/// The minimum memory for a comparison in exact arithmetic, in which floats have 8 bytes and complex numbers 16.
pub(super) fn exact_need(interface: &Interface) -> MemoryNeed {
    let wide = |tensors: &[InterfaceTensor]| -> Vec<InterfaceTensor> {
        let wide = |tensor: &InterfaceTensor| {
            let mut tensor = tensor.clone();
            tensor.global.dtype = match tensor.global.dtype.class() {
                DTypeClass::Float => DType::F64,
                DTypeClass::Complex => DType::C128,
                DTypeClass::Bool | DTypeClass::Signed | DTypeClass::Unsigned => tensor.global.dtype,
            };
            tensor
        };
        tensors.iter().map(wide).collect()
    };
    let (inputs, outputs) = (wide(&interface.inputs), wide(&interface.outputs));
    let mut need = MemoryNeed::default();
    need.add("inputs", on_host(&inputs));
    need.add("blocks of inputs", distinct_blocks(interface, &inputs));
    need.add("outputs", on_host(&outputs));
    need.add("outputs of all devices", on_devices(interface, &outputs));
    need
}

/// The memory that a compiled program needs to run, without its inputs on the host, which are already allocated.
pub(super) fn program_need(program: &Program) -> MemoryNeed {
    let mut need = MemoryNeed::default();
    let devices = program.executable().devices().len() as u64;
    if program.is_on_host() {
        let stats = program.executable().memory_stats().unwrap_or_default();
        for (what, bytes) in [
            ("inputs", stats.argument_bytes),
            ("outputs", stats.output_bytes),
            ("temporaries", stats.temp_bytes),
        ] {
            need.add(format!("{what} on {devices} devices"), bytes.saturating_mul(devices));
        }
    }
    let outputs = program.outputs().iter().flatten();
    let bytes = outputs.map(|port| HostArray::byte_size(port.ty.dtype, &port.ty.shape).unwrap_or(usize::MAX));
    need.add("outputs on the host", sum(bytes.map(|n| n as u64)));
    need
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Compiler;

    #[test]
    fn memory_need_counts_blocks_and_full_arrays() {
        let source = br#"
          sdy.mesh @mesh = <["data"=4, "model"=2]>
          func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
              %w: tensor<64x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"model"}]>}) -> tensor<32x16xf32> {
            %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
                : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
            return %0 : tensor<32x16xf32>
          }
        "#;
        let output = Compiler::new().partition(source).unwrap();
        let need = run_need(&output.interface);
        let bytes: Vec<u64> = need.parts.iter().map(|(_, bytes)| *bytes).collect();
        let (x, w, y) = (32 * 64 * 4, 64 * 16 * 4, 32 * 16 * 4);
        assert_eq!(bytes, [x + w, 2 * x + 4 * w, y, y]);
        assert_eq!(verify_need(&output.interface).total(), need.total() + y);
    }
}
