//! Partition specifications: per dimension, the axes that split it.

use std::fmt;

use shardc_ir::{AxisRef, DimSharding, MeshId, TensorSharding};

use crate::ErrorKind;

/// How one dimension is split.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DimSpec {
    /// Names of the axes that split it, major to minor.
    pub axes: Vec<String>,
    /// Whether propagation may split it further.
    pub open: bool,
}

/// How a tensor is split: one entry per dimension. Made by [`spec!`](crate::spec!).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionSpec {
    /// One entry per dimension.
    pub dims: Vec<DimSpec>,
}

/// A [`PartitionSpec`], one entry per dimension: `None` for a dimension that is not split, `"axis"` for one that
/// an axis of the mesh splits, `("a", "b")` for one that several split, major to minor, and `_` for one that
/// is left to propagation.
///
/// ```
/// use shardc_graph::spec;
/// let batch = "data";
/// assert_eq!(spec![None, batch, ("data", "model"), _].to_string(), r#"[None, "data", ("data", "model"), _]"#);
/// ```
#[macro_export]
macro_rules! spec {
    ($($entry:tt),* $(,)?) => {
        $crate::PartitionSpec { dims: ::std::vec![$($crate::spec_entry!($entry)),*] }
    };
}

/// One entry of [`spec!`](crate::spec!).
#[doc(hidden)]
#[macro_export]
macro_rules! spec_entry {
    (None) => {
        $crate::DimSpec { axes: ::std::vec::Vec::new(), open: false }
    };
    (_) => {
        $crate::DimSpec { axes: ::std::vec::Vec::new(), open: true }
    };
    (($($axis:expr),+ $(,)?)) => {
        $crate::DimSpec { axes: ::std::vec![$(::std::string::String::from($axis)),+], open: false }
    };
    ($axis:expr) => {
        $crate::DimSpec { axes: ::std::vec![::std::string::String::from($axis)], open: false }
    };
}

impl PartitionSpec {
    /// Nothing is split: every device holds all of the tensor.
    #[must_use]
    pub fn replicated(rank: usize) -> Self {
        PartitionSpec { dims: vec![DimSpec::default(); rank] }
    }

    /// The sharding of a tensor of this shape.
    pub(crate) fn resolve(
        &self,
        mesh: &shardc_ir::Mesh,
        id: MeshId,
        shape: &[i64],
    ) -> Result<TensorSharding, ErrorKind> {
        if self.dims.len() != shape.len() {
            return Err(ErrorKind::SpecRank {
                spec: self.to_string(),
                entries: self.dims.len(),
                shape: shape.to_vec(),
            });
        }
        let mut used = vec![false; mesh.axes.len()];
        let mut dims = Vec::with_capacity(self.dims.len());
        for dim in &self.dims {
            let mut axes: Vec<AxisRef> = Vec::with_capacity(dim.axes.len());
            for name in &dim.axes {
                let Some(index) = mesh.axes.get_index_of(name.as_str()) else {
                    return Err(ErrorKind::UnknownAxis {
                        axis: name.clone(),
                        known: mesh.axes.iter().map(|(name, &size)| (name.to_string(), size)).collect(),
                    });
                };
                if std::mem::replace(&mut used[index], true) {
                    return Err(ErrorKind::AxisTwice { axis: name.clone(), spec: self.to_string() });
                }
                axes.push(AxisRef::whole(index));
            }
            dims.push(DimSharding { open: dim.open, ..DimSharding::closed(&axes) });
        }
        Ok(TensorSharding::from_dims(id, dims))
    }
}

impl fmt::Display for PartitionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dims: Vec<String> = self.dims.iter().map(DimSpec::to_string).collect();
        write!(f, "[{}]", dims.join(", "))
    }
}

impl fmt::Display for DimSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.axes.as_slice() {
            [] => f.write_str(if self.open { "_" } else { "None" }),
            [axis] => write!(f, "{axis:?}"),
            axes => {
                let axes: Vec<String> = axes.iter().map(|a| format!("{a:?}")).collect();
                write!(f, "({})", axes.join(", "))
            }
        }
    }
}
