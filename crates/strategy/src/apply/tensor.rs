//! Tensor parallelism: which dimensions of weights are split so that a layer's products are done in parts.
//!
//! As in Megatron (Shoeybi et al., 2019) the first of two matrices is split by columns and the second by rows: both have the inner
//! dimension between them, which is a class of dimensions through all operations. So a class is split that weights share, where none
//! of them is split already: heads of an attention, hidden features of a feed-forward layer. The features between layers, which most
//! weights have (or, of a layer alone, which it is given), stay whole; of matrices that have them and no such class, embeddings and
//! heads, the vocabulary is split.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{Module, ValueId};
use shardc_passes::propagate::DimensionClasses;

use crate::stacked::Stacked;

/// How many times more than features a vocabulary has at least.
const VOCABULARY: i64 = 2;

/// A vocabulary need not divide, as that of GPT-2 (50,257) by nothing. What is missing in the last part is less than this part of it.
const MISSING: i64 = 50;

/// How many weights have the features between layers at least: two have what is between them.
const SHARERS: usize = 3;

/// The classes of dimensions that are split.
pub(super) struct Inner {
    /// Those of dimensions within layers.
    pub(super) classes: FxHashSet<u32>,
    /// Those of vocabularies.
    vocabularies: FxHashSet<u32>,
    features: Option<u32>,
}

/// A weight: its dimensions that may be split, with their classes and sizes.
struct Weight {
    dims: Vec<(u32, i64)>,
}

impl Inner {
    /// The classes that `n` devices split of weights, arguments of a function without calls. `fed` are those of the dimensions that layers
    /// are given: of vectors in the batch, and of rows that are looked up.
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
            // Of one attention as many weights have its heads as have its features.
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

    /// The class of the features between layers, if one stands out.
    pub(super) fn features(&self) -> Option<u32> {
        self.features
    }

    /// The dimension of an argument that `n` devices split, if any.
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

/// Whether `n` parts are of one size, but for a few elements of the last one.
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
