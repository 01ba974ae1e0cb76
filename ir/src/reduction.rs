//! Kinds of reductions.

/// How partial results are combined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ReductionKind {
    /// Sum.
    #[default]
    Add,
    /// Product.
    Mul,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
    /// Logical or bitwise and.
    And,
    /// Logical or bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}
