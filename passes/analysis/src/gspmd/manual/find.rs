//! Finds device-local operations, and the manual computation to which each belongs.

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{AxisList, OpId, OpKind, ValueId};

use super::{Former, Res, inputs, same_axes, within};
use crate::gspmd::state::Crossing;

/// Whether an operation has no regions, and has the same result inside and outside of a manual computation.
fn is_arithmetic(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Constant(_)
            | OpKind::Iota { .. }
            | OpKind::PartitionId
            | OpKind::ReplicaId
            | OpKind::Unary(_)
            | OpKind::Binary(_)
            | OpKind::Compare(..)
            | OpKind::Select
            | OpKind::Clamp
            | OpKind::Convert
            | OpKind::BitcastConvert
            | OpKind::ReducePrecision { .. }
            | OpKind::BroadcastInDim { .. }
            | OpKind::Reshape
            | OpKind::Transpose { .. }
            | OpKind::Reverse { .. }
            | OpKind::Slice(_)
            | OpKind::Concatenate { .. }
            | OpKind::Pad(_)
            | OpKind::DynamicSlice { .. }
            | OpKind::DynamicUpdateSlice
    )
}

impl Former<'_, '_> {
    /// Finds local operations by forward data flow from the `@SPMDFullToShardShape` calls. Operations that share local values are assigned
    /// to one [`ManualPart`](super::ManualPart).
    pub(super) fn find(&mut self, ops: &[OpId]) -> Res<()> {
        for &op in ops {
            let module = &*self.import.rw.module;
            let kind = &module.ops[op].kind;
            let local: Vec<usize> =
                inputs(module, op).iter().filter_map(|v| self.of_value.get(v).copied()).collect();
            if matches!(kind, OpKind::Return) {
                if local.is_empty() {
                    continue;
                }
                return Err(self.error(
                    op,
                    "a region returns a value that is local to each device",
                    "@SPMDFullToShardShape and @SPMDShardToFullShape must be in one region; inline the calls first: shardc opt --passes inline,import-gspmd",
                ));
            }
            let crossing = self.import.crossings.get(&op);
            let exits = crossing.is_some_and(|c| {
                !c.enters && c.outer.as_ref().is_none_or(|outer| same_axes(outer, &self.context))
            });
            let enters = crossing.is_some_and(|c| c.enters) && local.is_empty();
            let marked = self.import.marked.get(&op).is_some_and(|axes| !within(axes, &self.context))
                || self.import.is_body(op);
            // If the call converts to fewer manual axes instead of to global values, its result is still local along the remaining manual
            // axes.
            let between = crossing.is_some_and(|c| !c.enters);
            if !exits && !enters && local.is_empty() && !marked && !between {
                continue;
            }
            let mut set = match local.first() {
                Some(&set) => set,
                None => self.sets.add(),
            };
            for &other in &local {
                set = self.sets.join(set, other);
            }
            self.of_op.insert(op, set);
            if !exits {
                for &result in &self.import.rw.module.ops[op].results {
                    self.of_value.insert(result, set);
                }
            }
        }
        for &op in ops {
            let Some(&set) = self.of_op.get(&op) else { continue };
            let root = self.sets.root(set);
            self.of_op.insert(op, root);
            let crossing = self.import.crossings.get(&op).cloned();
            let axes = self.axes_of(op, crossing.as_ref());
            let outer_in = crossing.as_ref().is_some_and(|c| c.enters)
                && !inputs(self.import.rw.module, op).iter().any(|v| self.of_value.contains_key(v));
            let outer_out = crossing.as_ref().is_some_and(|c| {
                !c.enters && c.outer.as_ref().is_none_or(|outer| same_axes(outer, &self.context))
            });
            let part = self.parts.entry(root).or_default();
            match (outer_in, outer_out) {
                (true, _) => part.entries.push(op),
                (_, true) => part.exits.push(op),
                _ => part.members.push(op),
            }
            let Some(axes) = axes else { continue };
            if outer_in || outer_out {
                if part.axes.as_ref().is_some_and(|known| !same_axes(known, &axes)) {
                    return Err(self.error(
                        op,
                        "an operation uses values that are local along different axes",
                        "all values that enter one device-local part of the program must have the same manual subgroups",
                    ));
                }
                part.axes = Some(axes);
            } else if part.fewest.as_ref().is_none_or(|fewest| axes.len() < fewest.len()) {
                part.fewest = Some(axes);
            }
        }
        Ok(())
    }

    /// Returns the axes along which an operation is local according to its annotation, including the enclosing manual axes.
    fn axes_of(&self, op: OpId, crossing: Option<&Crossing>) -> Option<AxisList> {
        let axes = match crossing {
            Some(crossing) => match (&crossing.inner, &crossing.added, &crossing.outer) {
                (Some(inner), ..) => inner.clone(),
                (_, Some(added), _) => self.context.iter().chain(added).copied().collect(),
                (.., Some(outer)) if !same_axes(outer, &self.context) => outer.clone(),
                _ => return None,
            },
            None => self.import.marked.get(&op).filter(|axes| !within(axes, &self.context))?.clone(),
        };
        Some(axes)
    }

    /// Moves broadcasts, and operations computed from constants and device ids, into the manual computation that uses them, if it is their
    /// only user.
    pub(super) fn sink(&mut self, ops: &[OpId]) {
        let mut users: FxHashMap<ValueId, Vec<OpId>> = FxHashMap::default();
        for &op in ops {
            for value in inputs(self.import.rw.module, op) {
                users.entry(value).or_default().push(op);
            }
        }
        let mut made: FxHashSet<ValueId> = FxHashSet::default();
        for &op in ops {
            let data = &self.import.rw.module.ops[op];
            let local = self.of_op.contains_key(&op);
            if !local && is_arithmetic(&data.kind) && data.operands.iter().all(|v| made.contains(v)) {
                made.extend(&data.results);
            }
        }
        let mut moved: BTreeMap<usize, Vec<OpId>> = BTreeMap::new();
        for &op in ops.iter().rev() {
            let module = &*self.import.rw.module;
            let data = &module.ops[op];
            // A broadcast is moved because its operand, which then enters the computation instead, is smaller than its result.
            let movable = data.results.iter().any(|r| made.contains(r))
                || matches!(data.kind, OpKind::BroadcastInDim { .. });
            if !movable || self.of_op.contains_key(&op) {
                continue;
            }
            let list: Vec<OpId> = module.ops[op]
                .results
                .iter()
                .flat_map(|r| users.get(r).into_iter().flatten().copied())
                .collect();
            let Some(&part) = list.first().and_then(|user| self.of_op.get(user)) else { continue };
            let enters = |user: &OpId| self.parts.get(&part).is_some_and(|p| p.entries.contains(user));
            if list.iter().any(|user| self.of_op.get(user) != Some(&part) || enters(user)) {
                continue;
            }
            // The sharding of a global value has no meaning inside a manual computation.
            for result in self.import.rw.module.ops[op].results.clone() {
                self.import.rw.module.shardings.set(result, None);
            }
            self.of_op.insert(op, part);
            moved.entry(part).or_default().push(op);
        }
        for (part, ops) in moved {
            if let Some(part) = self.parts.get_mut(&part) {
                part.members.splice(0..0, ops.into_iter().rev());
            }
        }
    }
}
