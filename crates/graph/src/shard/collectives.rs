//! Collectives inside a [`shard_map`](crate::Graph::shard_map). Names and semantics are those of `jax.lax`.

use shardc_ir::reducer::reducer;
use shardc_ir::{
    AxisList, AxisRef, Channel, CollectiveSpec, DType, DTypeClass, OpKind, ReductionKind, ReplicaGroups,
    TypeId, ValueId,
};

use crate::error::ErrorKind;
use crate::graph::{Graph, KindResult, Maker, check_shape};
use crate::{Tensor, axes};

/// Names of one or several mesh axes, major to minor.
pub trait AxisNames {
    /// Returns the axis names, major to minor.
    fn names(&self) -> Vec<&str>;
}

impl AxisNames for &str {
    fn names(&self) -> Vec<&str> {
        vec![self]
    }
}

impl AxisNames for String {
    fn names(&self) -> Vec<&str> {
        vec![self]
    }
}

impl<const N: usize> AxisNames for [&str; N] {
    fn names(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl AxisNames for &String {
    fn names(&self) -> Vec<&str> {
        vec![self]
    }
}

impl AxisNames for (&str, &str) {
    fn names(&self) -> Vec<&str> {
        vec![self.0, self.1]
    }
}

impl<const N: usize> AxisNames for &[&str; N] {
    fn names(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl AxisNames for &[&str] {
    fn names(&self) -> Vec<&str> {
        self.to_vec()
    }
}

impl<'g> Tensor<'g> {
    /// All-reduce: the sum over the devices along these axes.
    ///
    /// Reports an error if the call is not inside a `shard_map` over the axes.
    #[must_use]
    #[track_caller]
    pub fn psum(self, axes: impl AxisNames) -> Tensor<'g> {
        self.reduced("psum", axes, ReductionKind::Add)
    }

    /// All-reduce: the mean over the devices along these axes.
    ///
    /// Reports the errors of [`Tensor::psum`], and an error if the element type is not a float type.
    #[must_use]
    #[track_caller]
    pub fn pmean(self, axes: impl AxisNames) -> Tensor<'g> {
        let size = self.graph().axes_size(&axes);
        let sum = self.meets(&axes, |m, x, met| {
            let dtype = m.dtype_of(x);
            if !matches!(dtype.class(), DTypeClass::Float | DTypeClass::Complex) {
                let text = format!(
                    "pmean does not support the element type {dtype}: convert the operand with .to(DType::F32)"
                );
                return Err(ErrorKind::Operands(text));
            }
            met.reduced(m, x, ReductionKind::Add)
        });
        sum / size as f64
    }

    /// All-reduce: the elementwise maximum over the devices along these axes.
    ///
    /// Reports the errors of [`Tensor::psum`].
    #[must_use]
    #[track_caller]
    pub fn pmax(self, axes: impl AxisNames) -> Tensor<'g> {
        self.reduced("pmax", axes, ReductionKind::Max)
    }

    /// All-reduce: the elementwise minimum over the devices along these axes.
    ///
    /// Reports the errors of [`Tensor::psum`].
    #[must_use]
    #[track_caller]
    pub fn pmin(self, axes: impl AxisNames) -> Tensor<'g> {
        self.reduced("pmin", axes, ReductionKind::Min)
    }

    /// All-gather: the blocks of the devices along these axes, concatenated along dimension `dim` (`jax.lax.all_gather` with `tiled`).
    ///
    /// Reports the errors of [`Tensor::psum`], and an error if there is no such dimension.
    #[must_use]
    #[track_caller]
    pub fn all_gather(self, axes: impl AxisNames, dim: i64) -> Tensor<'g> {
        self.meets(&axes, |m, x, met| {
            let mut shape = m.shape_of(x);
            let dim = axes::one("all_gather", dim, &shape)?;
            shape[dim] = met.times(shape[dim]);
            let ty = m.type_like(x, &shape)?;
            let spec = met.spec(m, true);
            Ok(m.with_types(OpKind::AllGather { dim: dim as u32, spec }, &[x], &[ty], &[])[0])
        })
    }

    /// All-gather: the tensors of the devices along these axes, stacked along a new dimension `dim` (`jax.lax.all_gather` without `tiled`).
    ///
    /// Reports the errors of [`Tensor::psum`], and an error if the result has no such dimension.
    #[must_use]
    #[track_caller]
    pub fn all_gather_stacked(self, axes: impl AxisNames, dim: i64) -> Tensor<'g> {
        self.expand_dims(dim).all_gather(axes, dim)
    }

    /// Reduce-scatter: the sum over the devices along these axes; each device keeps its block along dimension `dim` (`jax.lax.psum_scatter`
    /// with `tiled`).
    ///
    /// Reports the errors of [`Tensor::all_gather`], and an error if the number of devices does not divide the dimension.
    #[must_use]
    #[track_caller]
    pub fn psum_scatter(self, axes: impl AxisNames, dim: i64) -> Tensor<'g> {
        self.meets(&axes, |m, x, met| {
            let mut shape = m.shape_of(x);
            let dim = axes::one("psum_scatter", dim, &shape)?;
            shape[dim] = met.part_of("psum_scatter", &shape, dim)?;
            let (ty, dtype) = (m.type_like(x, &shape)?, m.dtype_of(x));
            adds("psum_scatter", dtype)?;
            let region = reducer(&mut m.state.module, ReductionKind::Add, dtype);
            let spec = met.spec(m, true);
            Ok(m.with_types(OpKind::ReduceScatter { dim: dim as u32, spec }, &[x], &[ty], &[region])[0])
        })
    }

    /// Reduce-scatter: the sum over the devices along these axes. Each device keeps the element along dimension `dim` with its own index,
    /// and the dimension is removed (`jax.lax.psum_scatter` without `tiled`).
    ///
    /// Reports the errors of [`Tensor::psum`], and an error if there is no such dimension, or if its size is not the number of devices.
    #[must_use]
    #[track_caller]
    pub fn psum_scatter_stacked(self, axes: impl AxisNames, dim: i64) -> Tensor<'g> {
        self.with_one_each("psum_scatter_stacked", &axes, dim).psum_scatter(axes, dim).squeeze(dim)
    }

    /// All-to-all along these axes: device `i` gets element `i` along dimension `split` from each device, and stacks the elements along a
    /// new dimension `concat` of the result. Dimension `split` is removed (`jax.lax.all_to_all` without `tiled`).
    ///
    /// Reports the errors of [`Tensor::psum_scatter_stacked`].
    #[must_use]
    #[track_caller]
    pub fn all_to_all_stacked(self, axes: impl AxisNames, split: i64, concat: i64) -> Tensor<'g> {
        let given = self.with_one_each("all_to_all_stacked", &axes, split);
        let rank = given.rank() as i64;
        let from_first = |dim: i64| if dim < 0 { dim.saturating_add(rank) } else { dim };
        let (split, concat) = (from_first(split), from_first(concat));
        if given.is_poisoned() || split == concat {
            return given.all_to_all(axes, split, concat);
        }
        // `concat` counts dimensions after the removal of `split`.
        let (split_at, concat_at) =
            if concat < split { (split + 1, concat) } else { (split, concat.saturating_add(1)) };
        given.expand_dims(concat_at).all_to_all(axes, split_at, concat_at).squeeze(split_at)
    }

    /// Checks that dimension `dim` has one element for each device along these axes, and returns the tensor.
    #[track_caller]
    fn with_one_each(self, op: &'static str, axes: &impl AxisNames, dim: i64) -> Tensor<'g> {
        self.meets(axes, |m, x, met| {
            let shape = m.shape_of(x);
            met.one_each(op, &shape, axes::one(op, dim, &shape)?)?;
            Ok(x)
        })
    }

    /// All-to-all: each device sends a block along dimension `split` to each device along these axes, and concatenates the blocks it
    /// receives along dimension `concat` (`jax.lax.all_to_all` with `tiled`).
    ///
    /// Reports the errors of [`Tensor::psum_scatter`].
    #[must_use]
    #[track_caller]
    pub fn all_to_all(self, axes: impl AxisNames, split: i64, concat: i64) -> Tensor<'g> {
        self.meets(&axes, |m, x, met| {
            let mut shape = m.shape_of(x);
            let split = axes::one("all_to_all", split, &shape)?;
            let concat = axes::one("all_to_all", concat, &shape)?;
            shape[split] = met.part_of("all_to_all", &shape, split)?;
            shape[concat] = met.times(shape[concat]);
            let ty = m.type_like(x, &shape)?;
            let (split_dim, concat_dim, split_count) = (split as u32, concat as u32, met.size as u32);
            let spec = met.spec(m, false);
            let kind = OpKind::AllToAll { split_dim, concat_dim, split_count, spec };
            Ok(m.with_types(kind, &[x], &[ty], &[])[0])
        })
    }

    /// Collective permute: for each pair, the first device (source) sends its tensor to the second (target). A device is given by its index
    /// along the axis. Devices that receive nothing get zeros.
    ///
    /// Reports the errors of [`Tensor::psum`], and an error if a device index is out of range, or if two devices send to the same one.
    #[must_use]
    #[track_caller]
    pub fn ppermute(self, axis: &str, pairs: &[(i64, i64)]) -> Tensor<'g> {
        self.meets(&axis, |m, x, met| {
            let is_in = |n: i64| (0..met.size).contains(&n);
            let is_wrong = |(i, &(from, to)): (usize, &(i64, i64))| {
                let other = |&(a, b): &(i64, i64)| a == from || b == to;
                !is_in(from) || !is_in(to) || pairs[..i].iter().any(other)
            };
            if let Some((_, pair)) = pairs.iter().enumerate().find(|&pair| is_wrong(pair)) {
                let text = format!(
                    "ppermute along {axis:?} of size {}: the pair {pair:?} is out of range, or repeats a source or target",
                    met.size
                );
                return Err(ErrorKind::Operands(text));
            }
            let lists = met.groups.to_lists();
            let all = lists
                .iter()
                .flat_map(|group| pairs.iter().map(|&(from, to)| (group[from as usize], group[to as usize])));
            let groups = ReplicaGroups::pairs(all);
            let ty = m.state.module.values[x].ty;
            let spec = Box::new(CollectiveSpec { groups, ..*met.spec(m, false) });
            Ok(m.with_types(OpKind::CollectivePermute(spec), &[x], &[ty], &[])[0])
        })
    }

    #[track_caller]
    fn reduced(self, op: &'static str, axes: impl AxisNames, kind: ReductionKind) -> Tensor<'g> {
        self.meets(&axes, |m, x, met| {
            let dtype = m.dtype_of(x);
            match (kind, dtype.class()) {
                (ReductionKind::Add, _) => adds(op, dtype)?,
                (_, DTypeClass::Complex) => {
                    return Err(ErrorKind::Operands(format!(
                        "{op} does not support {dtype}: complex numbers are not ordered"
                    )));
                }
                _ => {}
            }
            met.reduced(m, x, kind)
        })
    }

    #[track_caller]
    fn meets(
        self,
        axes: &impl AxisNames,
        meet: impl FnOnce(&mut Maker<'_>, ValueId, &Met) -> KindResult<ValueId>,
    ) -> Tensor<'g> {
        self.graph().make(&[self], |m, values| {
            let met = Met::along(m, &axes.names())?;
            meet(m, values[0], &met)
        })
    }
}

impl Graph {
    /// Returns the index of the device along these axes, a scalar `i32`, inside a `shard_map` over the axes. With several axes, the last
    /// axis varies fastest.
    ///
    /// Reports an error if the call is not inside a `shard_map` over the axes.
    #[must_use]
    #[track_caller]
    pub fn axis_index(&self, axes: impl AxisNames) -> Tensor<'_> {
        let table = self.make(&[], |m, _| {
            let met = Met::along(m, &axes.names())?;
            let mut table = vec![0i32; m.state.module.meshes[m.state.mesh].num_devices()];
            for group in met.groups.to_lists() {
                for (number, device) in group.into_iter().enumerate() {
                    table[device as usize] = number as i32;
                }
            }
            let bytes = table.iter().flat_map(|n| n.to_le_bytes()).collect();
            m.typed(
                OpKind::Constant(shardc_ir::Dense::Elements(bytes)),
                &[],
                &[table.len() as i64],
                DType::I32,
            )
        });
        let device = self.make(&[], |m, _| m.typed(OpKind::PartitionId, &[], &[], DType::UI32));
        table.dynamic_index(0, device.to(DType::I32))
    }

    /// Returns the number of devices along these axes (JAX's `axis_size`); axes that the mesh lacks count as 1.
    #[must_use]
    pub fn axes_size(&self, axes: &impl AxisNames) -> i64 {
        let mesh = self.mesh();
        axes.names().iter().filter_map(|axis| mesh.axis_size(axis)).product()
    }
}

/// Returns the manual axes with these names; an error if an axis is not manual in an enclosing `shard_map`, or is listed twice.
pub(super) fn manual_axes(m: &Maker<'_>, names: &[&str]) -> KindResult<AxisList> {
    let mesh = &m.state.module.meshes[m.state.mesh];
    let manual: AxisList = m.state.manual.iter().flatten().copied().collect();
    let mut axes = AxisList::new();
    for &name in names {
        let axis = mesh.axes.get_index_of(name).map(AxisRef::whole);
        match axis.filter(|axis| manual.contains(axis)) {
            Some(axis) if axes.contains(&axis) => {
                return Err(ErrorKind::Operands(format!("the axis {name:?} is listed twice")));
            }
            Some(axis) => axes.push(axis),
            None => {
                let known = manual.iter().map(|&axis| mesh.axis_name(axis).to_owned()).collect();
                return Err(ErrorKind::NotManual { axis: name.to_owned(), known });
            }
        }
    }
    Ok(axes)
}

/// The groups of devices that take part in a collective, and the number of devices in a group.
struct Met {
    groups: ReplicaGroups,
    size: i64,
}

impl Met {
    /// Returns the groups of devices along axes of an enclosing `shard_map`.
    fn along(m: &Maker<'_>, names: &[&str]) -> KindResult<Met> {
        let axes = manual_axes(m, names)?;
        let mesh = &m.state.module.meshes[m.state.mesh];
        Ok(Met { groups: mesh.replica_groups(&axes), size: mesh.axes_size(&axes) })
    }

    /// Returns the size of one device's block along dimension `dim`; an error if the dimension is not divisible by the group size.
    fn part_of(&self, op: &str, shape: &[i64], dim: usize) -> KindResult<i64> {
        if shape[dim] % self.size == 0 {
            return Ok(shape[dim] / self.size);
        }
        Err(ErrorKind::Operands(format!(
            "{op}: dimension {dim} of {shape:?} is not divisible by the {} devices of a group",
            self.size
        )))
    }

    /// Checks that the dimension has one element for each device of a group.
    fn one_each(&self, op: &str, shape: &[i64], dim: usize) -> KindResult<()> {
        if shape[dim] == self.size {
            return Ok(());
        }
        Err(ErrorKind::Operands(format!(
            "{op}: the size of dimension {dim} of {shape:?} must be {}, the number of devices of a group",
            self.size
        )))
    }

    fn times(&self, size: i64) -> i64 {
        size.checked_mul(self.size).unwrap_or(i64::MAX)
    }

    fn reduced(&self, m: &mut Maker<'_>, x: ValueId, kind: ReductionKind) -> KindResult<ValueId> {
        let (ty, dtype) = (m.state.module.values[x].ty, m.dtype_of(x));
        let region = reducer(&mut m.state.module, kind, dtype);
        let spec = self.spec(m, true);
        Ok(m.with_types(OpKind::AllReduce(spec), &[x], &[ty], &[region])[0])
    }

    fn spec(&self, m: &mut Maker<'_>, use_global_device_ids: bool) -> Box<CollectiveSpec> {
        m.state.channels += 1;
        Box::new(CollectiveSpec {
            groups: self.groups.clone(),
            channel: Some(Channel::between_devices(m.state.channels)),
            use_global_device_ids,
            ..CollectiveSpec::default()
        })
    }
}

/// Rejects element type `i1` for collectives that sum.
fn adds(op: &str, dtype: DType) -> KindResult<()> {
    match dtype {
        DType::I1 => Err(ErrorKind::Operands(format!(
            "{op} does not support {dtype}: convert the operand with .to(DType::I32)"
        ))),
        _ => Ok(()),
    }
}

impl Maker<'_> {
    /// Returns the tensor type with the element type of `value` and shape `shape`; an error if the shape is invalid.
    fn type_like(&mut self, value: ValueId, shape: &[i64]) -> KindResult<TypeId> {
        check_shape(shape)?;
        let dtype = self.dtype_of(value);
        Ok(self.state.module.types.tensor(shape, dtype))
    }
}
