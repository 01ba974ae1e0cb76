//! Sharding rules: which dimensions of an operation's operands and results correspond.
//!
//! A rule names *factors*, in the manner of the letters of an einsum. Each dimension of each operand and result
//! is a product of factors, major to minor: in `[b, h * d]` the second dimension is the product of `h` and `d`.
//! A device that holds the part of every operand that belongs to its part of a factor can compute its part of
//! every result. Propagation, planning and cost all read this one table; the format and the kinds are Shardy's
//! (`sdy.op_sharding_rule`).

use shardc_ir::TensorType;
use smallvec::SmallVec;

/// What splitting a factor means for the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FactorKind {
    /// Each device computes its part of the results.
    PassThrough,
    /// The factor is in operands only: each device's result is a pending reduction.
    Reduction,
    /// The operation needs the whole factor on each device.
    NeedReplication,
    /// Splitting it makes devices exchange data with neighbours (slice, pad, concatenate, ...).
    Permutation,
}

/// Index of a factor in its rule.
pub type FactorIndex = u16;

/// A factor of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Factor {
    /// Number of elements along the factor.
    pub size: i64,
    /// What splitting the factor means.
    pub kind: FactorKind,
    /// Whether propagation must not carry shardings along it.
    pub blocked: bool,
}

/// The factors of each dimension of one tensor, major to minor; no factors for a scalar or a size that no
/// factor stands for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TensorMapping {
    /// One entry per dimension.
    pub dims: SmallVec<[SmallVec<[FactorIndex; 2]>; 4]>,
}

/// The sharding rule of one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ShardingRule {
    /// The factors; [`FactorIndex`] indexes here.
    pub factors: SmallVec<[Factor; 6]>,
    /// One entry per operand; a non-tensor has no dimensions.
    pub operands: SmallVec<[TensorMapping; 3]>,
    /// One entry per result.
    pub results: SmallVec<[TensorMapping; 1]>,
    /// Whether this is a rule that the program itself gives (`sdy.sharding_rule`).
    pub custom: bool,
}

impl ShardingRule {
    /// Iterates over the mappings of operands, then of results.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorMapping> {
        self.operands.iter().chain(&self.results)
    }

    /// Returns a rule without factors over tensors of these types; `None` stands for something that is no tensor.
    pub fn empty<'a>(
        operands: impl IntoIterator<Item = Option<&'a TensorType>>,
        results: impl IntoIterator<Item = Option<&'a TensorType>>,
    ) -> Self {
        let mapping = |ty: Option<&TensorType>| TensorMapping {
            dims: (0..ty.map_or(0, TensorType::rank)).map(|_| SmallVec::new()).collect(),
        };
        ShardingRule {
            factors: SmallVec::new(),
            operands: operands.into_iter().map(mapping).collect(),
            results: results.into_iter().map(mapping).collect(),
            custom: false,
        }
    }
}

impl TensorMapping {
    /// Returns the dimension that `factor` is in and its index among the factors of that dimension.
    #[must_use]
    pub fn find(&self, factor: FactorIndex) -> Option<(usize, usize)> {
        self.dims
            .iter()
            .enumerate()
            .find_map(|(d, factors)| factors.iter().position(|&f| f == factor).map(|i| (d, i)))
    }
}
