//! Partition specifications: the mesh axes that shard each dimension.

use std::fmt;

use shardc_ir::{AxisRef, DimSharding, MeshId, TensorSharding};

use crate::ErrorKind;

/// The sharding of one dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DimSpec {
    /// The axes that shard the dimension, major to minor: names, or indices as text.
    pub axes: Vec<String>,
    /// Whether propagation may shard the dimension further.
    pub open: bool,
}

/// The sharding of a tensor: one entry per dimension. Created by [`spec!`](crate::spec!).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionSpec {
    /// One entry per dimension.
    pub dims: Vec<DimSpec>,
}

/// A [`PartitionSpec`], one entry per dimension:
///
/// * `None` for an unsharded dimension,
/// * `"axis"` for a dimension sharded over a mesh axis,
/// * `("a", "b")` or `["a", "b"]` for a dimension sharded over several axes, major to minor,
/// * `_` for an open dimension, which propagation may shard.
///
/// An axis may be given by its index, and an entry may be an `Option`.
///
/// ```
/// use shardc_graph::spec;
/// let (batch, maybe) = ("data", None::<&str>);
/// assert_eq!(spec![None, batch, ("data", "model"), _].to_string(), r#"[None, "data", ("data", "model"), _]"#);
/// assert_eq!(spec![maybe, 1, [0, 2]].to_string(), "[None, 1, (0, 2)]");
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
        $crate::DimSpec { axes: ::std::vec![$($crate::AxisName::axis_name($axis)),+], open: false }
    };
    ([$($axis:expr),* $(,)?]) => {
        $crate::DimSpec { axes: ::std::vec![$($crate::AxisName::axis_name($axis)),*], open: false }
    };
    ($axis:expr) => {
        $crate::DimSpec::from($axis)
    };
}

/// A reference to a mesh axis: its name or its index.
pub trait AxisName {
    /// Returns the name, or the index as text.
    fn axis_name(self) -> String;
}

macro_rules! axis_names {
    ($($ty:ty),*) => {
        $(impl AxisName for $ty {
            fn axis_name(self) -> String {
                self.to_string()
            }
        })*
    };
}

axis_names!(&str, String, &String, i32, i64, usize);

impl<T: AxisName> From<T> for DimSpec {
    fn from(axis: T) -> Self {
        DimSpec { axes: vec![axis.axis_name()], open: false }
    }
}

impl<T: AxisName> From<Option<T>> for DimSpec {
    fn from(axis: Option<T>) -> Self {
        DimSpec { axes: axis.into_iter().map(T::axis_name).collect(), open: false }
    }
}

impl<T: AxisName> From<Vec<T>> for DimSpec {
    fn from(axes: Vec<T>) -> Self {
        DimSpec { axes: axes.into_iter().map(T::axis_name).collect(), open: false }
    }
}

impl PartitionSpec {
    /// Returns the specification of a fully replicated tensor of this rank: no dimension is sharded.
    #[must_use]
    pub fn replicated(rank: usize) -> Self {
        PartitionSpec { dims: vec![DimSpec::default(); rank] }
    }

    /// Converts the specification to the sharding of a tensor of this shape; an error if the rank differs, the mesh lacks an axis, or an
    /// axis is repeated.
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
                let Some(index) = index_of(mesh, name) else {
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

/// Returns the axis of this name; if there is none, the axis of this index.
fn index_of(mesh: &shardc_ir::Mesh, name: &str) -> Option<usize> {
    let number = || name.parse().ok().filter(|&number| number < mesh.axes.len());
    mesh.axes.get_index_of(name).or_else(number)
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
            [axis] => f.write_str(&shown(axis)),
            axes => {
                let axes: Vec<String> = axes.iter().map(|axis| shown(axis)).collect();
                write!(f, "({})", axes.join(", "))
            }
        }
    }
}

/// Returns a name in quotes, or an index without quotes.
fn shown(axis: &str) -> String {
    if axis.parse::<usize>().is_ok() { axis.to_owned() } else { format!("{axis:?}") }
}
