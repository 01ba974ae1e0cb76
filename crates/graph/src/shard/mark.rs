//! Marks on tensors.

use std::panic::Location;

use shardc_ir::{OpKind, ShardingId, TensorSharding, ValueDef, ValueId};

use crate::graph::{Maker, State};
use crate::{PartitionSpec, Placement, Tensor, placement_of};

impl<'g> Tensor<'g> {
    /// Says how the tensor is split, and returns it. On a parameter this is how it has to be fed; marking it again replaces
    /// that. On any other tensor it is a constraint, and this handle, too, stands for the constrained tensor from here on;
    /// marking that again constrains what was constrained, so that it changes from one to the other there. In a closure, a
    /// tensor from around it is constrained in the closure alone: use what is returned.
    ///
    /// Reported: the specification does not have one entry per dimension, names an axis that the mesh lacks, or names one
    /// twice.
    #[track_caller]
    pub fn mark_sharding(self, spec: PartitionSpec) -> Tensor<'g> {
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
        let resolved = spec.resolve(&state.module.meshes[state.mesh], state.mesh, &shape);
        let sharding = match resolved {
            Ok(sharding) => state.module.shardings.intern(sharding),
            Err(kind) => {
                state.report(at, &[self], kind);
                return self;
            }
        };
        if matches!(state.module.values[value].def(), ValueDef::Arg(region, _) if region == state.body()) {
            state.module.shardings.set(value, Some(sharding));
            return self;
        }
        let ty = state.module.values[value].ty;
        let constraint = OpKind::ShardingConstraint(sharding);
        let constrained = Maker::new(&mut state, at).with_types(constraint, &[value], &[ty], &[]);
        let region = state.region();
        let handle = &mut state.handles[self.id() as usize];
        if handle.region == region {
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
    /// Reported: the shapes differ.
    #[track_caller]
    pub fn shard_like(self, other: impl Into<Tensor<'g>>) -> Tensor<'g> {
        let other = other.into();
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

impl State {
    fn marked(&self, value: ValueId) -> Option<ShardingId> {
        match self.module.def_op(value).map(|op| &self.module.ops[op].kind) {
            Some(&OpKind::ShardingConstraint(id)) => Some(id),
            _ => self.module.shardings.of(value),
        }
    }
}
