//! Tensor shardings: the mesh axes that shard each dimension.
//!
//! The representation is Shardy's axis-based one (`docs/sharding_representation.md` of openxla/shardy). A dimension of size `n` with `k`
//! shards gives each device `ceil(n / k)` elements; the end of the last blocks is padding with unspecified values.

use cranelift_entity::{EntityRef, SecondaryMap, packed_option::PackedOption};
use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;
use smallvec::SmallVec;

use crate::{AxisList, AxisRef, DYNAMIC, Mesh, MeshId, ReductionKind, Shape, ShardingId, ValueId};

/// Axes that move from one dimension of a tensor to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AxisMove {
    /// The axes that are moved.
    pub axes: AxisList,
    /// The dimension that the axes shard before the move.
    pub from: u32,
    /// The dimension that the axes shard after the move.
    pub to: u32,
}

/// The sharding of one dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DimSharding {
    /// The axes that shard the dimension, major to minor.
    pub axes: AxisList,
    /// Whether propagation may add axes (`?` in text).
    pub open: bool,
    /// User priority (`p0` in text), lower first.
    pub priority: Option<u32>,
}

impl DimSharding {
    /// A closed dimension, sharded along `axes`.
    #[must_use]
    pub fn closed(axes: &[AxisRef]) -> Self {
        DimSharding { axes: AxisList::from_slice(axes), open: false, priority: None }
    }

    /// An open dimension, sharded along `axes`.
    #[must_use]
    pub fn open(axes: &[AxisRef]) -> Self {
        DimSharding { axes: AxisList::from_slice(axes), open: true, priority: None }
    }
}

/// The sharding of one tensor.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TensorSharding {
    /// The mesh that the axes belong to.
    pub mesh: MeshId,
    /// The sharding of each dimension.
    pub dims: SmallVec<[DimSharding; 4]>,
    /// Axes along which propagation must leave the tensor replicated.
    pub replicated: AxisList,
    /// Axes along which the value is unreduced: the tensor is the sum of the values on the devices, or another
    /// [`TensorSharding::reduction`] of them.
    pub unreduced: AxisList,
    /// The reduction over [`TensorSharding::unreduced`]; [`ReductionKind::Add`] if that is empty.
    pub reduction: ReductionKind,
}

impl TensorSharding {
    /// A sharding in which every dimension is closed and not sharded.
    #[must_use]
    pub fn replicated(mesh: MeshId, rank: usize) -> Self {
        Self::from_dims(mesh, (0..rank).map(|_| DimSharding::default()))
    }

    /// A sharding in which every dimension is open and not sharded.
    #[must_use]
    pub fn open(mesh: MeshId, rank: usize) -> Self {
        Self::from_dims(mesh, (0..rank).map(|_| DimSharding::open(&[])))
    }

    /// A sharding with these dimension shardings, and no replicated or unreduced axes.
    pub fn from_dims(mesh: MeshId, dims: impl IntoIterator<Item = DimSharding>) -> Self {
        TensorSharding {
            mesh,
            dims: dims.into_iter().collect(),
            replicated: AxisList::new(),
            unreduced: AxisList::new(),
            reduction: ReductionKind::Add,
        }
    }

    /// A sharding with these axes for each dimension, all closed.
    pub fn from_axes<'a>(mesh: MeshId, dims: impl IntoIterator<Item = &'a [AxisRef]>) -> Self {
        Self::from_dims(mesh, dims.into_iter().map(DimSharding::closed))
    }

    /// Number of dimensions.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Axes that shard dimension `dim`; none for a maximal sharding (one device), which lists no dimensions.
    #[must_use]
    #[inline]
    pub fn axes(&self, dim: usize) -> &[AxisRef] {
        self.dims.get(dim).map_or(&[], |sharding| &sharding.axes)
    }

    /// Number of shards of dimension `dim`.
    #[must_use]
    pub fn shards(&self, mesh: &Mesh, dim: usize) -> i64 {
        mesh.axes_size(self.axes(dim))
    }

    /// Returns the sharding without unreduced axes.
    #[must_use]
    pub fn completed(&self) -> Self {
        TensorSharding { unreduced: AxisList::new(), reduction: ReductionKind::Add, ..self.clone() }
    }

    /// Returns the canonical form: without unreduced axes, the reduction is the default.
    #[must_use]
    pub fn tidied(mut self) -> Self {
        if self.unreduced.is_empty() {
            self.reduction = ReductionKind::Add;
        }
        self
    }

    /// Whether no dimension is sharded (unreduced axes do not count).
    #[must_use]
    pub fn is_unsplit(&self) -> bool {
        self.dims.iter().all(|d| d.axes.is_empty())
    }

    /// Whether both shardings place the same data on each device: they have the same axes on each dimension, the same unreduced axes and
    /// the same reduction. Openness, priorities and explicitly replicated axes are ignored.
    #[must_use]
    pub fn same_placement(&self, other: &Self) -> bool {
        self.mesh == other.mesh
            && self.unreduced == other.unreduced
            && self.reduction == other.reduction
            && self.dims.len() == other.dims.len()
            && self.dims.iter().zip(&other.dims).all(|(a, b)| a.axes == b.axes)
    }

    /// Every axis that shards a dimension, in order of dimensions.
    pub fn split_axes(&self) -> impl Iterator<Item = AxisRef> {
        self.dims.iter().flat_map(|d| d.axes.iter().copied())
    }

    /// The local shape of a tensor with this global shape: `ceil(n / k)` per dimension.
    #[must_use]
    pub fn local_shape(&self, mesh: &Mesh, global: &[i64]) -> Shape {
        global
            .iter()
            .zip(&self.dims)
            // All devices have blocks of the same size, even if some hold only padding: 5 rows over 4 devices are blocks of 2, and the
            // last device has no row.
            .map(|(&n, d)| if n == DYNAMIC { n } else { div_ceil(n, mesh.axes_size(&d.axes)) })
            .collect()
    }

    /// Returns a sharding that places the same data on each device, with closed dimensions and without priorities or explicitly replicated
    /// axes.
    #[must_use]
    pub fn closed(&self) -> Self {
        TensorSharding {
            unreduced: self.unreduced.clone(),
            reduction: self.reduction,
            ..Self::from_axes(self.mesh, self.dims.iter().map(|d| d.axes.as_slice()))
        }
    }

    /// The text of the sharding as sdy writes it, without the mesh: `[{"data"}, {?}]`.
    #[must_use]
    pub fn display(&self, mesh: &Mesh) -> String {
        let mut out = String::from("[");
        for (i, dim) in self.dims.iter().enumerate() {
            if i > 0 {
                out.push_str(", ");
            }
            out.push('{');
            push_axes(&mut out, mesh, &dim.axes);
            if dim.open {
                out.push_str(if dim.axes.is_empty() { "?" } else { ", ?" });
            }
            out.push('}');
            if let Some(priority) = dim.priority {
                out.push_str(&format!("p{priority}"));
            }
        }
        out.push(']');
        let kind = self.reduction.word();
        for (name, kind, axes) in [("replicated", "", &self.replicated), ("unreduced", kind, &self.unreduced)]
        {
            if !axes.is_empty() {
                out.push_str(&format!(", {name}={kind}{{"));
                push_axes(&mut out, mesh, axes);
                out.push('}');
            }
        }
        out
    }
}

impl ReductionKind {
    /// Returns the keyword before unreduced axes in sdy's text; empty for a sum.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ReductionKind::Add => "",
            ReductionKind::Mul => "mul",
            ReductionKind::Max => "max",
            ReductionKind::Min => "min",
            ReductionKind::And => "and",
            ReductionKind::Or => "or",
            ReductionKind::Xor => "xor",
        }
    }

    /// The reduction with this keyword.
    #[must_use]
    pub fn from_word(word: &str) -> Option<ReductionKind> {
        use ReductionKind as R;
        [R::Add, R::Mul, R::Max, R::Min, R::And, R::Or, R::Xor].into_iter().find(|kind| kind.word() == word)
    }
}

fn push_axes(out: &mut String, mesh: &Mesh, axes: &[AxisRef]) {
    for (i, &axis) in axes.iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        out.push('"');
        out.push_str(mesh.axis_name(axis));
        out.push('"');
        if let Some(sub) = axis.sub {
            out.push_str(&format!(":({}){}", sub.pre, sub.size));
        }
    }
}

/// Returns the block size of `n` elements in `k` shards; never overflows, even for an invalid mesh.
pub(crate) fn div_ceil(n: i64, k: i64) -> i64 {
    let k = k.max(1);
    // `(n + k - 1) / k` overflows near `i64::MAX`.
    n / k + i64::from(n % k > 0)
}

/// Interned shardings and the sharding of each value.
#[derive(Clone, Debug, Default)]
pub struct ShardingTable {
    pool: IndexSet<TensorSharding, FxBuildHasher>,
    of: SecondaryMap<ValueId, PackedOption<ShardingId>>,
}

impl ShardingTable {
    /// Interns `sharding`, and returns its handle.
    pub fn intern(&mut self, sharding: TensorSharding) -> ShardingId {
        // Shardings are never removed, so handles stay valid. Equal shardings have equal handles, so passes compare handles.
        ShardingId::new(self.pool.insert_full(sharding).0)
    }

    /// The sharding that a handle refers to.
    #[must_use]
    #[inline]
    pub fn get(&self, id: ShardingId) -> &TensorSharding {
        &self.pool[id.index()]
    }

    /// Returns the handle of the sharding of a value, if it has one.
    #[must_use]
    #[inline]
    pub fn of(&self, value: ValueId) -> Option<ShardingId> {
        self.of[value].expand()
    }

    /// Returns the sharding of a value, if it has one.
    #[must_use]
    #[inline]
    pub fn sharding_of(&self, value: ValueId) -> Option<&TensorSharding> {
        self.of(value).map(|id| self.get(id))
    }

    /// Sets or clears the sharding of a value.
    #[inline]
    pub fn set(&mut self, value: ValueId, sharding: Option<ShardingId>) {
        self.of[value] = sharding.into();
    }

    /// Clears the sharding of every value.
    pub fn clear_values(&mut self) {
        self.of.clear();
    }

    /// Number of distinct shardings.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pool.len()
    }

    /// Whether no sharding was interned yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pool.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_reductions() {
        assert_eq!(ReductionKind::from_word(ReductionKind::Xor.word()), Some(ReductionKind::Xor));
        assert_eq!(ReductionKind::from_word(ReductionKind::Add.word()), Some(ReductionKind::Add));
        assert_eq!(ReductionKind::from_word("mean"), None);
    }
}
