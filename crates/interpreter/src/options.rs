//! Limits of a run.

use shardc_ir::Interrupt;

/// Limits and parameters of a run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Ends the run when it is cancelled or its time is over.
    pub interrupt: Interrupt,
    /// The number of elements that each device may compute. Matrix products count their multiplications.
    pub max_work: u64,
    /// The number of bytes that one value may have.
    pub max_bytes: u64,
    /// Selects the random functions of the exact domain.
    pub key: u64,
}

impl Default for Options {
    fn default() -> Self {
        Options { interrupt: Interrupt::default(), max_work: 1 << 44, max_bytes: 1 << 34, key: 0 }
    }
}
