//! Dimension numbers as users write them; negative numbers count from the last dimension.

use std::ops::RangeFull;

use smallvec::SmallVec;

use crate::error::{ErrorKind, KindResult};

/// Dimensions of a tensor: one (`-1`), several (`[0, 1]`), or all (`..`). Negative numbers count from the last dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Axes {
    /// The listed dimensions.
    Some(SmallVec<[i64; 4]>),
    /// All dimensions.
    All,
}

impl From<RangeFull> for Axes {
    fn from(_: RangeFull) -> Self {
        Axes::All
    }
}

macro_rules! axes {
    ($($int:ty),*) => {
        $(impl From<$int> for Axes {
            fn from(axis: $int) -> Self {
                Axes::Some([i64::try_from(axis).unwrap_or(i64::MAX)].into_iter().collect())
            }
        }

        impl<const N: usize> From<[$int; N]> for Axes {
            fn from(axes: [$int; N]) -> Self {
                axes.as_slice().into()
            }
        }

        impl From<&[$int]> for Axes {
            fn from(axes: &[$int]) -> Self {
                Axes::Some(axes.iter().map(|&axis| i64::try_from(axis).unwrap_or(i64::MAX)).collect())
            }
        }

        impl From<Vec<$int>> for Axes {
            fn from(axes: Vec<$int>) -> Self {
                axes.as_slice().into()
            }
        })*
    };
}

axes!(i32, i64, usize);

/// Returns the non-negative index of dimension `axis` of a tensor of shape `shape`. If there is no such dimension, returns an error
/// that names `op`.
pub(crate) fn one(op: &'static str, axis: i64, shape: &[i64]) -> KindResult<usize> {
    let rank = shape.len() as i64;
    match axis {
        _ if (0..rank).contains(&axis) => Ok(axis as usize),
        _ if (-rank..0).contains(&axis) => Ok((axis + rank) as usize),
        _ => Err(ErrorKind::Dimensions { op, dims: vec![axis], shape: shape.to_vec() }),
    }
}

/// Returns the size of dimension `axis` of a tensor of shape `shape`. Returns one if there is no such dimension; the caller reports
/// that error.
pub(crate) fn size(shape: &[i64], axis: i64) -> i64 {
    one("size", axis, shape).map_or(1, |dim| shape[dim])
}

/// Returns the non-negative indices of dimensions `axes`, in the given order; an error if a dimension does not exist or is repeated.
pub(crate) fn all(op: &'static str, axes: &[i64], shape: &[i64]) -> KindResult<SmallVec<[usize; 4]>> {
    let mut out: SmallVec<[usize; 4]> = SmallVec::new();
    let fault = || ErrorKind::Dimensions { op, dims: axes.to_vec(), shape: shape.to_vec() };
    for &axis in axes {
        let dim = one(op, axis, shape).map_err(|_| fault())?;
        if out.contains(&dim) {
            return Err(fault());
        }
        out.push(dim);
    }
    Ok(out)
}

impl Axes {
    /// Returns the selected dimensions of a tensor of this shape, in ascending order.
    pub(crate) fn sorted(&self, op: &'static str, shape: &[i64]) -> KindResult<SmallVec<[usize; 4]>> {
        match self {
            Axes::All => Ok((0..shape.len()).collect()),
            Axes::Some(axes) => {
                let mut dims = all(op, axes, shape)?;
                dims.sort_unstable();
                Ok(dims)
            }
        }
    }
}
