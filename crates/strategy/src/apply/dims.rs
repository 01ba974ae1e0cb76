//! Which dimension of a tensor is split.

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpKind, RegionId, ValueId};

/// Which dimension of each argument is better left whole: loops take one row of it at a time.
///
/// A stack of layers has them in a dimension of its own, of which each trip of a loop takes one. Split along it, one device at a
/// time would have what all need.
pub(crate) struct Stacked {
    dims: FxHashMap<ValueId, Vec<bool>>,
    origin: FxHashMap<ValueId, ValueId>,
}

impl Stacked {
    /// Of the arguments of a body without calls.
    pub(crate) fn of(module: &Module, body: RegionId) -> Self {
        let mut origin: FxHashMap<ValueId, ValueId> = FxHashMap::default();
        let args = &module.regions[body].args;
        origin.extend(args.iter().map(|&arg| (arg, arg)));
        let mut dims: FxHashMap<ValueId, Vec<bool>> =
            args.iter().map(|&arg| (arg, vec![false; module.rank(arg)])).collect();
        for op in module.walk(body) {
            let data = &module.ops[op];
            match &data.kind {
                OpKind::While => {
                    for (i, operand) in data.operands.iter().enumerate() {
                        let Some(&arg) = origin.get(operand) else { continue };
                        let inner = data.regions.iter().filter_map(|&r| module.regions[r].args.get(i));
                        origin.extend(inner.map(|&value| (value, arg)));
                    }
                }
                OpKind::Convert | OpKind::OptimizationBarrier => {
                    for (operand, &result) in data.operands.iter().zip(&data.results) {
                        if let Some(&arg) = origin.get(operand) {
                            origin.insert(result, arg);
                        }
                    }
                }
                OpKind::DynamicSlice { sizes } => {
                    let Some(arg) = data.operands.first().and_then(|v| origin.get(v)) else { continue };
                    if let Some(stacked) = dims.get_mut(arg) {
                        let whole = module.shape(*arg);
                        for ((stacked, size), n) in stacked.iter_mut().zip(sizes).zip(whole) {
                            *stacked |= size < n;
                        }
                    }
                }
                _ => {}
            }
        }
        Stacked { dims, origin }
    }

    /// Whether loops take rows of an argument.
    pub(crate) fn has_rows(&self, arg: ValueId) -> bool {
        self.dims.get(&arg).is_some_and(|dims| dims.contains(&true))
    }

    /// The argument that a value is, or is carried into a loop as.
    pub(crate) fn origin(&self, value: ValueId) -> Option<ValueId> {
        self.origin.get(&value).copied()
    }

    /// Whether loops take rows of a dimension of an argument.
    pub(crate) fn is_stacked(&self, arg: ValueId, dim: usize) -> bool {
        self.dims.get(&arg).and_then(|dims| dims.get(dim)).copied().unwrap_or(false)
    }
}

/// The dimension to split in `n` parts: of those that may be and that `n` divides, the largest; else the largest of which every
/// device has a part. `None` where there is none.
pub(crate) fn split_dim(shape: &[i64], n: i64, may: impl Fn(usize) -> bool) -> Option<usize> {
    let largest = |fits: &dyn Fn(i64) -> bool| {
        let dims = (0..shape.len()).filter(|&d| may(d) && fits(shape[d]));
        dims.max_by_key(|&d| (shape[d], std::cmp::Reverse(d)))
    };
    if n <= 1 {
        return None;
    }
    largest(&|size| size > 0 && size % n == 0).or_else(|| largest(&|size| size.div_euclid(n) >= 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_dimension_that_divides_is_split() {
        let any = |_: usize| true;
        assert_eq!(split_dim(&[64, 128], 8, any), Some(1));
        assert_eq!(split_dim(&[64, 64], 8, any), Some(0));
        assert_eq!(split_dim(&[50257, 768], 8, any), Some(1));
        assert_eq!(split_dim(&[50257, 7], 8, any), Some(0), "uneven, rather than whole");
        assert_eq!(split_dim(&[3, 7], 8, any), None, "some devices would have none");
        assert_eq!(split_dim(&[32, 64], 8, |d| d != 1), Some(0));
        assert_eq!(split_dim(&[32, 64], 1, any), None);
    }
}
