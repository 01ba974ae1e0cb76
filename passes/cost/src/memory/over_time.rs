//! The buffers of a program over time, for reports.

use shardc_ir::{FuncId, Module, ValueId};

use super::in_memory::{InMemory, grouped};
use super::machine::Machine;
use super::{MemoryEstimate, need_and_peak};

/// A buffer for a temporary, on the time line of the whole function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveBuffer {
    /// Bytes, padding included.
    pub bytes: u64,
    /// The first value in the buffer; `None` for a copy that the compiler inserts.
    pub value: Option<ValueId>,
    /// The first and the last step of the live range. Steps count from 1 in execution order; a loop body has steps of its own.
    pub first: u32,
    /// See `first`.
    pub last: u32,
}

/// The buffers of a function over time.
#[derive(Clone, Debug, Default)]
pub struct BuffersOverTime {
    /// The memory that the function needs, as [`estimate`](super::estimate) returns it.
    pub estimate: MemoryEstimate,
    /// The number of steps.
    pub steps: u32,
    /// The buffers of temporaries, in the order of their definition.
    pub buffers: Vec<LiveBuffer>,
    /// The temporaries that are live at the peak, as [`at_peak`](super::at_peak) returns them.
    pub at_peak: Vec<InMemory>,
}

/// Returns the memory that a function with local types needs on a machine, and its temporaries over time and at the peak.
#[must_use]
pub fn over_time(module: &Module, func: FuncId, machine: Machine) -> BuffersOverTime {
    let (need, peak) = need_and_peak(module, func, machine.into(), &|_| 0);
    let buffers = peak.timeline.buffers.iter().filter(|buffer| buffer.bytes > 0).map(|buffer| LiveBuffer {
        bytes: buffer.bytes,
        value: buffer.value,
        first: buffer.first,
        last: buffer.last,
    });
    let mut buffers: Vec<LiveBuffer> = buffers.collect();
    buffers.sort_by_key(|buffer| buffer.first);
    BuffersOverTime {
        estimate: need.estimate,
        steps: peak.timeline.steps,
        buffers,
        at_peak: grouped(module, &peak.alive),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_live_until_their_last_user() {
        let text = "func.func @main(%x: tensor<16x16xf32>) -> tensor<16x16xf32> {
            %0 = stablehlo.cholesky %x, lower = true : tensor<16x16xf32>
            %1 = stablehlo.cholesky %0, lower = true : tensor<16x16xf32>
            %2 = stablehlo.cholesky %1, lower = true : tensor<16x16xf32>
            return %2 : tensor<16x16xf32> }";
        let module = shardc_stablehlo::parse(text).unwrap();
        let BuffersOverTime { estimate, steps, buffers, at_peak } =
            over_time(&module, module.entry().unwrap(), Machine::of("cpu"));
        assert!(steps >= 3 && estimate.temporaries == 2048);
        let ranges: Vec<_> = buffers.iter().map(|buffer| (buffer.bytes, buffer.first, buffer.last)).collect();
        assert_eq!(ranges, [(1024, 1, 2), (1024, 2, 3)]);
        assert_eq!((at_peak.len(), at_peak[0].count, at_peak[0].bytes), (1, 2, 2048));
    }
}
