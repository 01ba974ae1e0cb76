//! # shardc-prove: every partition proves itself
mod algebra;
mod boundary;
mod check;
mod describe;
mod eval;
mod exact;
mod report;
mod terms;

pub use boundary::{AxisDigit, Block, Boundary, Combine};
pub use check::prove;
pub use report::{Counts, Error, Evidence, Place, Report, Verdict};

/// Limits of a check.
#[derive(Clone, Debug)]
pub struct Options {
    /// Ends the check early.
    pub interrupt: shardc_ir::Interrupt,
    /// The most work of the test that follows if the program is not proven; `None` disables it.
    pub test_work: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Options { interrupt: shardc_ir::Interrupt::default(), test_work: Some(1 << 33) }
    }
}
