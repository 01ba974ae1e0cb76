//! # shardc-prove: every partition proves itself
//!
//! Internal: this crate may change in any release. Front ends use `shardc::prove`.
//!
//! [`prove`] takes an original program on global values, a partitioned program on local values, and the [`Boundary`] between them: the
//! block of each input and output on each device. It decides whether the partitioned program computes what the original computes. It shares
//! no code with the passes: it uses only `shardc-ir` (types, module, operation table) and `shardc-interpreter`.
//!
//! ## Method
//!
//! **Devices are a dimension.** A value of the partitioned program is a function of the position in its local dimensions and of the device.
//! The original is evaluated in the same way, on one device. Both programs become terms in one table, in which equal terms have equal
//! identifiers. An output is proven if both programs have the same term there, and if its indices are those that the boundary states.
//!
//! * A *term* is an operation on terms. Each index of an argument is a list of variables of the operation. Transposes, broadcasts,
//!   reshapes and dimensions of size 1 are not terms: they only change indices.
//! * A *view* is a term whose index in each dimension is a number with digits of positions. A digit `(slot, stride, size)` is
//!   `position / stride % size`, where the slot is a local dimension or the device. A sharded dimension has an index with a digit of the
//!   device and a digit of the local position. A replicated value has no digit of the device.
//! * *Local operations* are applied to views: the device is one more batch dimension. Digits that are adjacent in all arguments are one
//!   variable again. The local matmul of two blocks is therefore the term of the global matmul, and its view has the digits of the blocks.
//! * *Collectives* are changes of digits. An all-gather moves digits of the device to a dimension, a reduce-scatter moves digits of a
//!   dimension to the device, an all-to-all does both, and a permute renames digits. An all-reduce reduces over digits of the device.
//! * A *partial sum* is a sum over some variables that still depends on digits of the device. The all-reduce sums over these. Sums of sums
//!   are merged, so that the result is the term of the global sum. Without the all-reduce, with other groups or with another reduction, the
//!   result is another term.
//! * *Offsets* that are computed from the device number are affine functions of digits. A dynamic slice at such an offset selects digits.
//!   Masks compare affine functions; in canonical form, the device digit and the local position are the global position again.
//! * *Gather and scatter* are sums over positions with an indicator that the position is the index. A lookup in a block of a sharded
//!   table, with the offset of the block subtracted and out-of-range indices masked, is a partial sum of the global lookup.
//! * *Slices and concatenations* are in units of positions. Slices of concatenations are concatenations of slices, so that parts that are
//!   exchanged and joined again are the term of the original.
//! * *Uneven blocks* are concatenations of a value and arbitrary elements. Operations are applied to both parts. An arbitrary element may
//!   have another value at each use, so that only masks, slices and products with zero remove it.
//! * *Loops* with an unknown trip count are terms: the condition and the next states as functions of states, and the first states. The
//!   states of a partitioned program are assumed to be blocks of global states, and the body must return the same blocks.
//! * *Manual computations* of the original have digits of the device between their operands and results.
//! * *Exchanges* of parts of blocks depend on the device in a way that digits do not describe. They are followed device by device, as pieces
//!   of terms, until the pieces of all devices are blocks of a term of the original. The pieces are compared at every position.
//! * *Halos*: if the pieces of the devices are overlapping windows of a term, the value is a term of windows (`algebra::windows`). A
//!   convolution or a reduction over windows of it is a block of the operation on the whole; `eval::windows` has the conditions.
//! * *Custom calls* are unknown functions. Along the factors of their sharding rule in the original that are of no special kind, they
//!   compute each element on its own (`eval::rules`).
//!
//! The normal form of terms is in `algebra`. Each rewrite is an equation of exact arithmetic that holds for all sizes.
//!
//! ## What a proof means
//!
//! Floats are real numbers: sums are reassociated, conversions between float types are the identity, and functions such as the exponential
//! are unknown functions of their arguments. A proof therefore does not cover rounding, overflow, infinities that cancel, or NaN. These are
//! the rules of [`Exact`](shardc_interpreter::Exact), in which the test below runs. Programs with operations that draw random numbers from a
//! hidden state are not proven, and neither are programs that communicate with the host or declare side effects.
//!
//! ## Verdicts
//!
//! * [`Verdict::Proven`]: every output has the needed view.
//! * [`Verdict::Refuted`]: an output is a partial result where the boundary states the complete one, or the test below found a difference. If
//!   the programs are too large for the test, a part of them may be tested.
//! * [`Verdict::Tested`]: some output is not proven, but the test found no difference.
//! * [`Verdict::NotDecided`]: some output is not proven, and the programs are too large for the test.
//!
//! The test runs both programs on random inputs in exact arithmetic. [`Report::places`] lists the operations at which values of the
//! partitioned program begin to differ from all terms of the original; after a difference, the most likely causes come first.
//!
//! ## Cost
//!
//! Equal layers are the same terms. Digits describe all devices at once, so that time and memory do not grow with the number of devices.
//! Exceptions are exchanges, which are followed on at most 128 devices, and device numbers that are not in the order of the mesh. A loop
//! whose trip count is known is unrolled; the body of another loop is evaluated a few times.
//!
//! ## Rooms
//!
//! * `terms` has terms, views and digits, and builds nodes in canonical form; `algebra` has the rewrites. `meaning` tests both.
//! * `eval` evaluates programs, one file for each family of operations.
//! * `check` compares outputs, `verdict` decides, and `exact` runs the test. `effects` finds effects, `describe` prints views.
//! * After a difference, `changes` finds the operation that was changed since a `certificate` was written, by the `marks` of values.
//!   Without a certificate, `locate` finds it by the elements of values (`trace`) and by changes that correct it (`repair`).
//! * `cut` makes counter-examples; `parts` uses it for programs that are too large for the test. `gradient` checks gradients.
//! * `boundary` and `report` are the interface.
//!
//! Related work: Scalify (arXiv 2509.10694) relates values of distributed and baseline programs by e-graph rewriting, TrainVerify verifies
//! distributed training symbolically, and Mirage tests equality over finite fields.

mod algebra;
mod boundary;
mod certificate;
mod changes;
mod check;
mod cut;
mod describe;
mod effects;
mod eval;
mod exact;
mod gradient;
mod locate;
mod marks;
#[cfg(test)]
mod meaning;
mod parts;
mod repair;
mod report;
mod terms;
mod trace;
mod verdict;

pub use boundary::{AxisDigit, Block, Boundary};
pub use certificate::{Certificate, Claim, Step};
pub use check::certify;
pub use cut::{Argument, CounterExample, Difference, counter_example};
pub use gradient::{GradientReport, check_gradient};
pub use marks::Mark;
pub use parts::prove;
pub use report::{Counts, Error, Evidence, Place, Report, Verdict};

/// Limits of a check.
#[derive(Clone, Debug)]
pub struct Options {
    /// Ends the check early.
    pub interrupt: shardc_ir::Interrupt,
    /// The most work of the test that follows if the program is not proven; `None` disables it.
    pub test_work: Option<u64>,
    /// The certificate of the partition before it was changed: if results differ, it finds the operation.
    pub certificate: Option<std::sync::Arc<Certificate>>,
    /// Whether the test also follows a proof, and decides; tests of this crate use it.
    pub always_test: bool,
}

impl Options {
    /// The default limit of the work of a test, in elements: some 20 seconds.
    pub const WORK: u64 = 1 << 33;
}

impl Default for Options {
    fn default() -> Self {
        Options {
            interrupt: shardc_ir::Interrupt::default(),
            test_work: Some(Options::WORK),
            certificate: None,
            always_test: false,
        }
    }
}
