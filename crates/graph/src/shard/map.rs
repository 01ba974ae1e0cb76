//! `shard_map`: manual per-device computations.

use shardc_ir::{AxisList, AxisRef, ManualSpec, OpKind, ShardingId, TensorSharding, TypeId};

use super::AxisNames;
use crate::error::ErrorKind;
use crate::graph::{Built, Graph, KindResult, Maker, check_shape, take_captured};
use crate::{PartitionSpec, Tree};

impl Graph {
    /// Runs `body` on each device with local blocks of the inputs (JAX's `shard_map`). Each tensor of `inputs` is sharded as its entry of
    /// `in_specs` specifies. `body` returns local blocks, from which the results are assembled as `out_specs` specifies. `body` can
    /// use collectives such as [`psum`](crate::Tensor::psum) and [`all_gather`](crate::Tensor::all_gather).
    ///
    /// Tensors that `body` captures are replicated. If a result specification omits an axis, the devices along that axis must return
    /// the same value. Examples of such values are a sum over the axis, and a value computed only from inputs that are not sharded
    /// over the axis. If equality cannot be inferred, the call reports an error, unless
    /// [`assume_replicated`](crate::Tensor::assume_replicated) asserts equality.
    ///
    /// ```
    /// use shardc_graph::{DType::F32, Graph, Mesh, spec};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let g = Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)])?);
    /// let (x, w) = (g.parameter("x", [8, 16], F32), g.parameter("w", [16, 32], F32));
    /// let y = g.shard_map((x, w), &[spec!["data", "model"], spec!["model", None]], &[spec!["data", None]], |(x, w)| {
    ///     assert_eq!((x.shape(), w.shape()), (vec![2, 8], vec![8, 32]));
    ///     x.dot(w).psum("model")
    /// });
    /// assert_eq!(y.shape(), [8, 32]);
    /// # g.finish(&[("y", y)])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Reports an error if the number of specifications is not the number of tensors, if one does not match its tensor, or if its axes do
    /// not divide a dimension. Devices along an axis that a result specification omits must return equal values (SH0623).
    #[track_caller]
    pub fn shard_map<'g, I: Tree<'g>, O: Tree<'g>>(
        &'g self,
        inputs: I,
        in_specs: &[PartitionSpec],
        out_specs: &[PartitionSpec],
        body: impl FnOnce(I) -> O,
    ) -> O {
        // In the body of another `shard_map`, only axes that are not yet manual can become manual.
        let axes = {
            let state = self.state.borrow();
            let is_free = |axis: &AxisRef| !state.manual.iter().flatten().any(|manual| manual == axis);
            let axes: AxisList =
                state.module.meshes[state.mesh].all_axes().into_iter().filter(is_free).collect();
            if axes.is_empty() && !state.manual.is_empty() {
                let text = "nested shard_map: the enclosing shard_map is already manual along all mesh axes";
                Err(ErrorKind::Operands(text.to_owned()))
            } else {
                Ok(axes)
            }
        };
        self.mapped(axes, inputs, in_specs, out_specs, body)
    }

    /// [`shard_map`](Graph::shard_map) over only some axes of the mesh: along the other axes, the body is partitioned automatically.
    ///
    /// Reports the errors of [`Graph::shard_map`], and an error if the mesh has no such axis.
    #[track_caller]
    pub fn shard_map_over<'g, I: Tree<'g>, O: Tree<'g>>(
        &'g self,
        axes: impl AxisNames,
        inputs: I,
        in_specs: &[PartitionSpec],
        out_specs: &[PartitionSpec],
        body: impl FnOnce(I) -> O,
    ) -> O {
        let axes = self.free_axes(&axes.names());
        self.mapped(axes, inputs, in_specs, out_specs, body)
    }

    #[track_caller]
    fn mapped<'g, I: Tree<'g>, O: Tree<'g>>(
        &'g self,
        axes: KindResult<AxisList>,
        inputs: I,
        in_specs: &[PartitionSpec],
        out_specs: &[PartitionSpec],
        body: impl FnOnce(I) -> O,
    ) -> O {
        let leaves = inputs.leaves();
        let mut shardings: Vec<ShardingId> = Vec::new();
        let mut types: Vec<Option<TypeId>> = Vec::new();
        let (axes, fault) = match axes {
            Ok(axes) => (axes, None),
            Err(fault) => (AxisList::new(), Some(fault)),
        };
        self.make_many(&leaves, 0, |m, values| {
            if let Some(fault) = fault {
                return Err(fault);
            }
            let wholes: Vec<TypeId> = values.iter().map(|&v| m.state.module.values[v].ty).collect();
            (shardings, types) = blocks(m, &axes, "operands", &wholes, in_specs, Way::ToBlocks)?;
            Ok(Vec::new())
        });
        types.resize(leaves.len(), None);
        self.state.borrow_mut().manual.push(axes.clone());
        let (built, tree) = self.region("shard_map", &types, |args| {
            let tree = body(inputs.rebuilt(&args));
            (tree.leaves(), tree)
        });
        self.state.borrow_mut().manual.pop();
        let returned = tree.leaves();
        let n = returned.len();
        let Some(Built { region, types: local }) = built else { return tree.rebuilt(&self.poisoned(n)) };
        let mut results = Vec::new();
        let made = self.make_many(&leaves, n, |m, values| {
            let (out_shardings, wholes) = blocks(m, &axes, "results", &local, out_specs, Way::ToWholes)?;
            let wholes: Vec<TypeId> = wholes.into_iter().flatten().collect();
            let captured = take_captured(&mut m.state.module, region);
            let mut in_shardings = shardings.clone();
            for &value in &captured {
                let rank = m.state.module.rank(value);
                in_shardings.push(sharding(m, &axes, &PartitionSpec::replicated(rank), &vec![1; rank])?);
            }
            let spec = ManualSpec { in_shardings, out_shardings, manual_axes: axes.clone() };
            let operands = [values, &captured].concat();
            results = m.with_types(OpKind::ManualComputation(Box::new(spec)), &operands, &wholes, &[region]);
            Ok(results.clone())
        });
        self.check_replicated(&results, &returned, out_specs);
        tree.rebuilt(&made)
    }

    /// Returns the axes of these names, in mesh order; an error if one of them is already manual in an enclosing `shard_map`.
    fn free_axes(&self, names: &[&str]) -> KindResult<AxisList> {
        let state = self.state.borrow();
        let mesh = &state.module.meshes[state.mesh];
        let mut axes = AxisList::new();
        for &name in names {
            let Some(index) = mesh.axes.get_index_of(name) else {
                return Err(ErrorKind::UnknownAxis {
                    axis: name.to_owned(),
                    known: mesh.axes.iter().map(|(name, &size)| (name.to_string(), size)).collect(),
                });
            };
            let axis = AxisRef::whole(index);
            if axes.contains(&axis) {
                return Err(ErrorKind::Operands(format!("shard_map lists the axis {name:?} twice")));
            }
            if state.manual.iter().flatten().any(|&manual| manual == axis) {
                let text = format!("nested shard_map: {name:?} is already manual in the enclosing shard_map");
                return Err(ErrorKind::Operands(text));
            }
            axes.push(axis);
        }
        axes.sort_unstable();
        Ok(axes)
    }
}

/// Direction of the conversion between global and local types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    ToBlocks,
    ToWholes,
}

/// Returns the sharding of each tensor by its specification, and the tensor's type after the conversion `way`.
fn blocks(
    m: &mut Maker<'_>,
    axes: &[AxisRef],
    what: &str,
    types: &[TypeId],
    specs: &[PartitionSpec],
    way: Way,
) -> KindResult<(Vec<ShardingId>, Vec<Option<TypeId>>)> {
    if types.len() != specs.len() {
        let text =
            format!("shard_map has {} {what}, but {} partition specs for them", types.len(), specs.len());
        return Err(ErrorKind::Operands(text));
    }
    let (mut shardings, mut others) = (Vec::new(), Vec::new());
    for (&ty, spec) in types.iter().zip(specs) {
        let Some(ty) = m.state.module.types.as_tensor(ty).cloned() else { continue };
        let id = sharding(m, axes, spec, &ty.shape)?;
        let module = &mut m.state.module;
        let mesh = &module.meshes[m.state.mesh];
        let mut shape = ty.shape.to_vec();
        for (size, dim) in shape.iter_mut().zip(&module.shardings.get(id).dims) {
            let parts = mesh.axes_size(&dim.axes);
            match way {
                Way::ToWholes => *size = size.checked_mul(parts).unwrap_or(i64::MAX),
                Way::ToBlocks if *size % parts == 0 => *size /= parts,
                Way::ToBlocks => {
                    let text = format!(
                        "shard_map cannot shard {:?} by {spec}: {size} is not divisible by {parts}",
                        ty.shape
                    );
                    return Err(ErrorKind::Operands(text));
                }
            }
        }
        check_shape(&shape)?;
        shardings.push(id);
        others.push(Some(module.types.tensor(&shape, ty.dtype)));
    }
    Ok((shardings, others))
}

/// Returns the sharding of `spec`; an error if an axis of `spec` is not manual. Dimensions are open if some axes of the mesh are not
/// manual.
fn sharding(
    m: &mut Maker<'_>,
    axes: &[AxisRef],
    spec: &PartitionSpec,
    shape: &[i64],
) -> KindResult<ShardingId> {
    let mesh = &m.state.module.meshes[m.state.mesh];
    let is_partial = axes.len() < mesh.axes.len();
    let mut resolved: TensorSharding = spec.resolve(mesh, m.state.mesh, shape)?;
    for dim in &mut resolved.dims {
        if let Some(other) = dim.axes.iter().find(|axis| !axes.contains(axis)) {
            let over: Vec<&str> = axes.iter().map(|&axis| mesh.axis_name(axis)).collect();
            let text = format!(
                "the axis {:?} of the spec {spec} is not a manual axis of the shard_map; its manual axes are {}",
                mesh.axis_name(*other),
                if over.is_empty() { "none".to_owned() } else { over.join(", ") }
            );
            return Err(ErrorKind::Operands(text));
        }
        dim.open = is_partial;
    }
    Ok(m.state.module.shardings.intern(resolved))
}
