//! Sharding rules, which specify the dimensions of an operation's operands and results that correspond.
//!
//! A rule has *factors*, like the labels of an einsum. Each dimension of each operand and result is a product of factors, major to
//! minor: in `[b, h * d]` the second dimension is the product of `h` and `d`. If a factor is sharded, each device can compute its shard
//! of every result from its shards of the operands. Propagation, planning and the cost model all use these rules; the format and the
//! kinds are Shardy's (`sdy.op_sharding_rule`).

use shardc_ir::TensorType;
use smallvec::SmallVec;

/// The effect of sharding a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FactorKind {
    /// Each device computes its shard of the results.
    PassThrough,
    /// Only operands have the factor: results are unreduced.
    Reduction,
    /// The operation needs the factor replicated.
    NeedReplication,
    /// Devices exchange elements with neighbors (slice, pad, concatenate, ...).
    Permutation,
}

/// The index of a factor in its rule.
pub type FactorIndex = u16;

/// A factor of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Factor {
    /// The number of elements along the factor.
    pub size: i64,
    /// The effect of sharding the factor.
    pub kind: FactorKind,
    /// Whether propagation along the factor is blocked.
    pub blocked: bool,
}

/// The factors of each dimension of one tensor, major to minor; none for a scalar, or for a dimension without a factor.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct TensorMapping {
    /// One entry per dimension.
    pub dims: SmallVec<[SmallVec<[FactorIndex; 2]>; 4]>,
}

/// The sharding rule of one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ShardingRule {
    /// The factors; a [`FactorIndex`] is an index into this list.
    pub factors: SmallVec<[Factor; 6]>,
    /// One entry for each operand; the entry of an operand that is not a tensor has no dimensions.
    pub operands: SmallVec<[TensorMapping; 3]>,
    /// One entry per result.
    pub results: SmallVec<[TensorMapping; 1]>,
    /// Whether the rule is user-defined (`sdy.sharding_rule`).
    pub custom: bool,
}

impl ShardingRule {
    /// Iterates over the mappings of operands, then of results.
    pub fn tensors(&self) -> impl Iterator<Item = &TensorMapping> {
        self.operands.iter().chain(&self.results)
    }

    /// Returns a rule without factors for operands and results of the given types; `None` stands for a value that is not a tensor.
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
    /// Returns the dimension to which `factor` is mapped, and the index of the factor among the factors of that dimension.
    #[must_use]
    pub fn find(&self, factor: FactorIndex) -> Option<(usize, usize)> {
        self.dims
            .iter()
            .enumerate()
            .find_map(|(d, factors)| factors.iter().position(|&f| f == factor).map(|i| (d, i)))
    }
}
