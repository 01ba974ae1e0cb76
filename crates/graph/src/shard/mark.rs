//! Marks on tensors.

use std::panic::Location;

use shardc_ir::{OpKind, ShardingId, TensorSharding, ValueDef, ValueId};

use crate::error::ErrorKind;
use crate::graph::{Graph, KindResult, Maker, State};
use crate::{PartitionSpec, Placement, Tensor, placement_of};

impl<'g> Tensor<'g> {
    /// Says how the tensor is split, and returns it.
    ///
    /// On a parameter this is how it has to be fed. A mark that says the same again changes nothing; before another one is given, the first
    /// has to be [cleared](Tensor::clear_sharding), as in PyTorch/XLA.
    ///
    /// On any other tensor it is a constraint, as `jax.lax.with_sharding_constraint` is, and this handle, too, stands for the
    /// constrained tensor from here on. A second mark that says something else is one more constraint: what was made of the tensor
    /// between the two reads the first one, what is made of it afterwards the second. A mark that says the same again changes
    /// nothing. The gradient of a constrained tensor is constrained likewise.
    ///
    /// In a closure, a tensor from around it is constrained in the closure alone: use what is returned.
    ///
    /// Reported: the specification does not have one entry per dimension, names an axis that the mesh lacks, or names one
    /// twice; or an axis of a `shard_map` that this is inside of; a parameter is marked otherwise already.
    #[track_caller]
    pub fn mark_sharding(self, spec: PartitionSpec) -> Tensor<'g> {
        self.mark(On::Handle, |state, shape| {
            spec.resolve(&state.module.meshes[state.mesh], state.mesh, shape)
        })
    }

    /// A copy of the tensor that is split like this, and whose gradient is; the tensor itself stays as it is. On anything but a
    /// parameter it differs from [`mark_sharding`](Tensor::mark_sharding) in that alone.
    ///
    /// Reported: as for `mark_sharding`.
    #[must_use]
    #[track_caller]
    pub fn mark_sharding_with_gradients(self, spec: PartitionSpec) -> Tensor<'g> {
        self.mark(On::Copy, |state, shape| spec.resolve(&state.module.meshes[state.mesh], state.mesh, shape))
    }

    #[track_caller]
    fn mark(self, on: On, resolve: impl FnOnce(&State, &[i64]) -> KindResult<TensorSharding>) -> Tensor<'g> {
        let at = Location::caller();
        let mut state = self.graph().state.borrow_mut();
        let value = match state.values(self.graph(), &[self]) {
            Ok(Some(values)) => values[0],
            Ok(None) => return self,
            Err(kind) => {
                state.report(at, &[self], kind);
                return Tensor::new(self.graph(), State::POISON);
            }
        };
        let shape = state.module.shape(value).to_vec();
        let resolved = resolve(&state, &shape).and_then(|sharding| state.check_free(sharding));
        let sharding = match resolved {
            Ok(sharding) => state.module.shardings.intern(sharding),
            Err(kind) => {
                state.report(at, &[self], kind);
                return self;
            }
        };
        if on == On::Handle {
            if state.marked(value) == Some(sharding) {
                return self;
            }
            if matches!(state.module.values[value].def(), ValueDef::Arg(region, _) if region == state.body())
            {
                if let Some(before) = state.marked(value) {
                    let kind = state.marked_twice("the parameter", before, sharding);
                    state.report(at, &[self], kind);
                    return self;
                }
                state.module.shardings.set(value, Some(sharding));
                return self;
            }
        }
        let ty = state.module.values[value].ty;
        let constraint = OpKind::ShardingConstraint(sharding);
        let constrained = Maker::new(&mut state, at).with_types(constraint, &[value], &[ty], &[]);
        let region = state.region();
        let handle = &mut state.handles[self.id() as usize];
        if on == On::Handle && handle.region == region {
            handle.value = constrained[0];
            return self;
        }
        let id = state.handle(constrained[0]);
        Tensor::new(self.graph(), id)
    }

    /// Takes a mark away, and returns the tensor: propagation decides. What was made of the marked tensor stays as it is.
    #[track_caller]
    pub fn clear_sharding(self) -> Tensor<'g> {
        let mut state = self.graph().state.borrow_mut();
        let Ok(Some(values)) = state.values(self.graph(), &[self]) else { return self };
        let value = values[0];
        let module = &mut state.module;
        match module.values[value].def() {
            ValueDef::Arg(..) => module.shardings.set(value, None),
            ValueDef::Result(op, _) => {
                if matches!(module.ops[op].kind, OpKind::ShardingConstraint(_)) {
                    let before = module.ops[op].operands[0];
                    state.handles[self.id() as usize].value = before;
                    drop(state);
                    return self.clear_sharding();
                }
            }
        }
        self
    }

    /// Marks the tensor as `other` is marked, and returns it; without a mark on `other`, both will be split alike, however that
    /// is.
    ///
    /// Reported: the shapes differ; a parameter is marked otherwise already.
    #[track_caller]
    pub fn shard_like(self, other: impl Into<Tensor<'g>>) -> Tensor<'g> {
        let other = other.into();
        let mut fits = false;
        self.graph().make_many(&[self, other], 0, |m, values| {
            let (left, right) = (m.shape_of(values[0]), m.shape_of(values[1]));
            if left != right {
                let text =
                    format!("shard_like of tensors of shapes {left:?} and {right:?}: they have to be equal");
                return Err(ErrorKind::Operands(text));
            }
            fits = true;
            Ok(Vec::new())
        });
        if !fits {
            return self;
        }
        if let Some(sharding) = other.sharding() {
            return self.mark(On::Handle, |_, _| Ok(sharding));
        }
        let group = self.graph().state.borrow_mut().new_group();
        for tensor in [self, other] {
            self.graph().make_many(&[tensor], 0, |m, values| {
                Ok(m.with_types(OpKind::ShardingGroup { id: group }, values, &[], &[]))
            });
        }
        self
    }

    /// What [`Tensor::mark_sharding`] said of the tensor, if anything.
    #[must_use]
    pub fn sharding(self) -> Option<TensorSharding> {
        let state = self.graph().state.borrow();
        let value = state.values(self.graph(), &[self]).ok()??[0];
        state.marked(value).map(|id| state.module.shardings.get(id).clone())
    }

    /// Which device holds which block, by what [`Tensor::mark_sharding`] said of the tensor, if anything: what is left to
    /// propagation counts as whole. [`Placement::visualize`] draws it.
    #[must_use]
    pub fn placement(self) -> Option<Placement> {
        let sharding = self.sharding()?;
        let state = self.graph().state.borrow();
        Some(placement_of(&state.module.meshes[sharding.mesh], &self.shape(), &sharding))
    }
}

impl Graph {
    /// Says how the result of this name will be split, whatever computes it (JAX's `out_shardings`). It may be said at any time
    /// before the graph is finished. Without a mark, propagation decides.
    ///
    /// Reported, when the graph is finished: there is no result of this name, it is marked in two ways, or what [`Tensor::mark_sharding`] reports.
    #[track_caller]
    pub fn mark_result_sharding(&self, name: &str, spec: PartitionSpec) {
        let at = Location::caller();
        self.state.borrow_mut().result_specs.push((name.to_owned(), spec, at));
    }
}

/// What is marked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    /// What the handle stands for.
    Handle,
    /// A tensor beside it.
    Copy,
}

impl State {
    /// A sharding by axes along which the program here is one for all devices.
    fn check_free(&self, sharding: TensorSharding) -> KindResult<TensorSharding> {
        let manual =
            sharding.split_axes().find(|axis| self.manual.iter().flatten().any(|m| m.axis == axis.axis));
        let Some(axis) = manual else { return Ok(sharding) };
        let mesh = &self.module.meshes[self.mesh];
        Err(ErrorKind::Operands(format!(
            "a tensor cannot be split over {:?} inside of a shard_map over it: it is what one device has",
            mesh.axis_name(axis)
        )))
    }

    pub(crate) fn marked_twice(&self, what: &str, before: ShardingId, after: ShardingId) -> ErrorKind {
        let shown = |id: ShardingId| self.module.shardings.get(id).display(&self.module.meshes[self.mesh]);
        ErrorKind::MarkedTwice { what: what.to_owned(), before: shown(before), after: shown(after) }
    }

    fn marked(&self, value: ValueId) -> Option<ShardingId> {
        match self.module.def_op(value).map(|op| &self.module.ops[op].kind) {
            Some(&OpKind::ShardingConstraint(id)) => Some(id),
            _ => self.module.shardings.of(value),
        }
    }
}
