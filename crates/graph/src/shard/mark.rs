//! Sharding annotations.

use std::panic::Location;

use shardc_ir::{OpKind, ShardingId, TensorSharding, ValueDef, ValueId};

use crate::error::ErrorKind;
use crate::graph::{Graph, KindResult, Maker, State};
use crate::{PartitionSpec, Placement, Tensor, placement_of};

impl<'g> Tensor<'g> {
    /// Annotates the tensor with a sharding, and returns it.
    ///
    /// On a parameter, the annotation is the sharding of the input. To replace it by a different sharding, call
    /// [`clear_sharding`](Tensor::clear_sharding) first, as in PyTorch/XLA.
    ///
    /// On any other tensor, the annotation is a sharding constraint, like `jax.lax.with_sharding_constraint`. Later uses of this handle are
    /// uses of the constrained tensor. A second call with a different sharding adds another constraint: uses between the two calls read the
    /// first constraint, later uses read the second. The gradient of a constrained tensor gets the same constraint.
    ///
    /// A repeated call with an equal sharding has no effect.
    ///
    /// In a closure, a call on a captured tensor constrains only its uses within that closure. To use the constrained tensor outside, return
    /// it from the closure.
    ///
    /// Reports an error if the specification does not have one entry per dimension, names an axis that the mesh lacks, or repeats an axis.
    /// Also reports an error if the specification names an axis of an enclosing `shard_map`, or if a parameter is already marked with a
    /// different sharding.
    #[track_caller]
    pub fn mark_sharding(self, spec: PartitionSpec) -> Tensor<'g> {
        self.mark(On::Handle, |state, shape| {
            spec.resolve(&state.module.meshes[state.mesh], state.mesh, shape)
        })
    }

    /// Returns a copy of the tensor with this sharding constraint, which also applies to the gradient of the copy. Unlike
    /// [`mark_sharding`](Tensor::mark_sharding), the call leaves the tensor itself unchanged; on a parameter, it adds a constraint and
    /// does not annotate the input.
    ///
    /// Reports the errors of `mark_sharding`.
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
                    let kind = state.conflicting_mark("the parameter", before, sharding);
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

    /// Removes the annotation of the tensor, so that propagation chooses its sharding, and returns the tensor. Tensors already computed
    /// from the annotated tensor are unchanged.
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

    /// Annotates the tensor with the sharding of `other`, and returns it. If `other` has no annotation, propagation chooses one sharding
    /// for both tensors (`sdy.sharding_group`).
    ///
    /// Reports an error if the shapes differ, or if a parameter is already annotated with a different sharding.
    #[track_caller]
    pub fn shard_like(self, other: impl Into<Tensor<'g>>) -> Tensor<'g> {
        let other = other.into();
        let mut fits = false;
        self.graph().make_many(&[self, other], 0, |m, values| {
            let (left, right) = (m.shape_of(values[0]), m.shape_of(values[1]));
            if left != right {
                let text = format!("shard_like needs tensors of equal shapes, got {left:?} and {right:?}");
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

    /// Returns the annotated sharding of the tensor, if any: see [`Tensor::mark_sharding`].
    #[must_use]
    pub fn sharding(self) -> Option<TensorSharding> {
        let state = self.graph().state.borrow();
        let value = state.values(self.graph(), &[self]).ok()??[0];
        state.marked(value).map(|id| state.module.shardings.get(id).clone())
    }

    /// Returns the placement of the tensor by its annotated sharding, if any; open dimensions count as unsharded.
    /// [`Placement::visualize`] draws the placement.
    #[must_use]
    pub fn placement(self) -> Option<Placement> {
        let sharding = self.sharding()?;
        let state = self.graph().state.borrow();
        Some(placement_of(&state.module.meshes[sharding.mesh], &self.shape(), &sharding))
    }
}

impl Graph {
    /// Annotates the result of this name with a sharding (JAX's `out_shardings`), at any time before the graph is finished. Without an
    /// annotation, propagation chooses the sharding.
    ///
    /// [`Graph::finish`] reports the errors of [`Tensor::mark_sharding`], and an error if there is no result of this name, or if it is
    /// marked with two different shardings.
    #[track_caller]
    pub fn mark_result_sharding(&self, name: &str, spec: PartitionSpec) {
        let at = Location::caller();
        self.state.borrow_mut().result_specs.push((name.to_owned(), spec, at));
    }
}

/// The target of an annotation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum On {
    /// The handle of the tensor: later uses of the handle are annotated.
    Handle,
    /// A new handle: the tensor itself is unchanged.
    Copy,
}

impl State {
    /// Checks that a sharding uses no axis of an enclosing `shard_map`.
    fn check_free(&self, sharding: TensorSharding) -> KindResult<TensorSharding> {
        let manual =
            sharding.split_axes().find(|axis| self.manual.iter().flatten().any(|m| m.axis == axis.axis));
        let Some(axis) = manual else { return Ok(sharding) };
        let mesh = &self.module.meshes[self.mesh];
        Err(ErrorKind::Operands(format!(
            "a tensor inside a shard_map cannot be sharded along its manual axis {:?}: inside the shard_map, the tensor is the block of one device",
            mesh.axis_name(axis)
        )))
    }

    pub(crate) fn conflicting_mark(&self, what: &str, before: ShardingId, after: ShardingId) -> ErrorKind {
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
