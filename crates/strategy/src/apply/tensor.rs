//! Tensor parallelism: chooses dimensions of weights so that the matmuls of a layer are computed on shards.
//!
//! The first of two matrices is sharded by columns and the second by rows, as in Megatron (Shoeybi et al., 2019). The matrices share the
//! inner dimension, which is one dimension class. So a class that several weights share is sharded if none of the weights is already
//! sharded, for example attention heads, or hidden features of an MLP. The features between layers, which most weights have (for a
//! single layer: its input features), stay replicated. If a matrix has the features between layers and no sharded class, as embeddings
//! and LM heads do, the vocabulary is sharded.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_analysis::propagate::DimensionClasses;
use shardc_ir::{Module, ValueId};

use crate::stacked::Stacked;

/// The minimum ratio of vocabulary size to feature size.
const VOCABULARY: i64 = 2;

/// A vocabulary, such as that of GPT-2 (50,257), need not be divisible by the number of shards. The padding of the last shard must be
/// less than this fraction (1/50) of the vocabulary.
const MISSING: i64 = 50;

/// The minimum number of weights that share the features between layers; an inner dimension is shared by only two weights.
const SHARERS: usize = 3;

/// The dimension classes that tensor parallelism shards.
pub(super) struct Inner {
    /// Dimension classes within layers, such as heads and hidden features.
    pub(super) classes: FxHashSet<u32>,
    /// Dimension classes of vocabularies.
    vocabularies: FxHashSet<u32>,
    features: Option<u32>,
}

/// A weight: its dimensions that may be sharded, with their dimension classes and sizes.
struct Weight {
    dims: Vec<(u32, i64)>,
}

impl Inner {
    /// Chooses the dimension classes of weights to shard over `n` devices; the weights are arguments of a function without calls. `fed`
    /// contains the classes of layer inputs: features of vectors in the batch, and of rows that are looked up.
    pub(super) fn of(
        module: &Module,
        classes: &DimensionClasses,
        (weights, fed): (&[ValueId], &FxHashSet<u32>),
        stacked: &Stacked,
        n: i64,
    ) -> Inner {
        let matrices: Vec<Weight> = weights
            .iter()
            .map(|&weight| {
                let dims = classes.of(weight).iter().zip(module.shape(weight)).enumerate();
                let free = dims.filter(|(dim, _)| !stacked.is_stacked(weight, *dim));
                Weight { dims: free.map(|(_, (&class, &size))| (class, size)).collect() }
            })
            .filter(|weight| weight.dims.len() >= 2)
            .collect();
        let mut sharers: FxHashMap<u32, Vec<usize>> = FxHashMap::default();
        for (i, matrix) in matrices.iter().enumerate() {
            for (class, _) in &matrix.dims {
                let sharers = sharers.entry(*class).or_default();
                if sharers.last() != Some(&i) {
                    sharers.push(i);
                }
            }
        }
        let mut by_count: Vec<(usize, u32)> = sharers.iter().map(|(&class, of)| (of.len(), class)).collect();
        by_count.sort_unstable_by_key(|&(count, class)| (std::cmp::Reverse(count), class));
        let features = match by_count.as_slice() {
            [(most, class), (next, _), ..] if *most >= SHARERS && *most >= 2 * next => Some(*class),
            // In a single attention layer, as many weights have a heads dimension as have a features dimension.
            all => all
                .iter()
                .find(|(count, class)| *count >= SHARERS && fed.contains(class))
                .map(|&(_, class)| class),
        };
        let divides = |size: i64| size > 0 && size % n == 0;
        let (mut chosen, mut vocabularies) = (FxHashSet::default(), FxHashSet::default());
        let mut is_split = vec![false; matrices.len()];
        for (count, class) in by_count {
            let of = &sharers[&class];
            let sizes = of.iter().flat_map(|&i| &matrices[i].dims).filter(|(c, _)| *c == class);
            let fits = sizes.into_iter().any(|&(_, size)| divides(size));
            if count < 2 || Some(class) == features || !fits || of.iter().any(|&i| is_split[i]) {
                continue;
            }
            chosen.insert(class);
            for &i in of {
                is_split[i] = true;
            }
        }
        let whole = matrices.iter().zip(&is_split).filter(|(_, is_split)| !**is_split);
        for (matrix, _) in whole {
            if let &[(a, m), (b, k)] = matrix.dims.as_slice() {
                let (class, size, other, rest) = if m >= k { (a, m, b, k) } else { (b, k, a, m) };
                if Some(other) == features && almost_divides(n, size) && size >= VOCABULARY * rest {
                    vocabularies.insert(class);
                }
            }
        }
        Inner { classes: chosen, vocabularies, features }
    }

    /// Returns the dimension class of the features between layers, if it is unambiguous.
    pub(super) fn features(&self) -> Option<u32> {
        self.features
    }

    /// Returns the dimension of an argument to shard over `n` devices, if any.
    pub(super) fn dim(
        &self,
        module: &Module,
        classes: &DimensionClasses,
        arg: ValueId,
        stacked: &Stacked,
        n: i64,
    ) -> Option<usize> {
        let dims = classes.of(arg).iter().zip(module.shape(arg)).enumerate();
        let mut split = dims.filter(|&(dim, (class, &size))| {
            let is_split = self.classes.contains(class) && size % n == 0
                || self.vocabularies.contains(class) && almost_divides(n, size);
            is_split && !stacked.is_stacked(arg, dim)
        });
        split.next().map(|(dim, _)| dim)
    }
}

/// Returns whether `n` shards have equal sizes, except for padding of the last shard: at most `size / MISSING` elements.
fn almost_divides(n: i64, size: i64) -> bool {
    let parts = size.checked_add(n - 1).map(|most| most / n * n);
    size > 0 && parts.is_some_and(|padded| padded - size <= size / MISSING)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vocabularies_almost_divide() {
        assert!(almost_divides(4, 50_257), "three of 50,260");
        assert!(almost_divides(4, 251) && almost_divides(8, 512));
        assert!(!almost_divides(8, 250), "six are more than a fiftieth");
        assert!(!almost_divides(8, 7) && !almost_divides(8, 0) && !almost_divides(8, i64::MAX));
    }
}
