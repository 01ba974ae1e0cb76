//! Simplification of reshards: merges a reshard of a reshard, and reuses an earlier reshard of the same data.
//!
//! ```mlir
//! %0 = sdy.reshard %a <@mesh, [{"x"}, {}]>
//! %1 = stablehlo.transpose %a, dims = [1, 0]
//! %2 = sdy.reshard %1 <@mesh, [{}, {"x"}]>
//! // becomes
//! %0 = sdy.reshard %a <@mesh, [{"x"}, {}]>
//! %2 = stablehlo.transpose %0, dims = [1, 0]
//! ```

use rustc_hash::FxHashSet;
use shardc_ir::{InsertionPoint, OpId, OpKind, RegionId, ShardingId, ValueId, ValueMap, clone_op};

use super::strides::same_data;
use super::{Patterns, Round};

impl Round<'_> {
    /// Simplifies a reshard.
    pub(super) fn reshard(&mut self, op: OpId, patterns: Patterns) {
        let OpKind::Reshard(target) = self.module.ops[op].kind else { return };
        let Some(&input) = self.module.ops[op].operands.first() else { return };
        if let Some(before) = self.module.def_op(input)
            && let OpKind::Reshard(_) = self.module.ops[before].kind
            && self.uses_of(input) == 1
        {
            let value = self.module.ops[before].operands[0];
            self.set_operand(op, value);
            self.erase(before);
        } else if patterns == Patterns::All {
            self.reuse(op, input, target);
        }
    }

    /// Reuses the result of an earlier reshard of the same data, even if one of the two reshards reads a reshaped or transposed value.
    fn reuse(&mut self, op: OpId, input: ValueId, target: ShardingId) {
        let mut path = Vec::new();
        let mut root = input;
        while let Some(view) = self.view_of(root) {
            path.push(view);
            root = self.module.ops[view].operands[0];
        }
        let Some(target) = self.before_transposes(target, &path) else { return };
        let Some(found) = self.earlier(op, root, target) else { return };
        let mut value = found;
        let mut at = self.behind(value);
        if self.module.values[value].ty != self.module.values[root].ty {
            let ty = self.module.values[root].ty;
            let reshape = self.module.add_op(OpKind::Reshape, &[value], &[ty], &[]);
            (self.module.ops[reshape].span, self.module.ops[reshape].loc) =
                (self.module.ops[op].span, self.module.ops[op].loc);
            value = self.put(reshape, &mut at);
        }
        for view in path.into_iter().rev() {
            let copy = clone_op(self.module, view, &mut ValueMap::new());
            self.module.ops[copy].operands[0] = value;
            value = self.put(copy, &mut at);
        }
        self.replace(op, value);
    }

    fn put(&mut self, new: OpId, at: &mut InsertionPoint) -> ValueId {
        self.insertions.insert(at, new);
        self.touched[new] = true;
        let (operand, result) = (self.module.ops[new].operands[0], self.module.ops[new].results[0]);
        self.add_uses(operand, 1);
        self.add_uses(result, 0);
        result
    }

    /// Returns the reshape or transpose that produces a value; `None` if another operation does.
    fn view_of(&self, value: ValueId) -> Option<OpId> {
        let op = self.module.def_op(value)?;
        matches!(self.module.ops[op].kind, OpKind::Reshape | OpKind::Transpose { .. }).then_some(op)
    }

    /// Maps a sharding of the result of the reshapes and transposes in `path` (last operation first) to a sharding of the value before the
    /// transposes.
    fn before_transposes(&mut self, target: ShardingId, path: &[OpId]) -> Option<ShardingId> {
        let mut sharding = self.module.shardings.get(target).clone();
        for &view in path {
            let data = &self.module.ops[view];
            match &data.kind {
                OpKind::Transpose { permutation } => {
                    let mut dims = sharding.dims.clone();
                    for (result, &operand) in permutation.iter().enumerate() {
                        *dims.get_mut(operand as usize)? = sharding.dims.get(result)?.clone();
                    }
                    sharding.dims = dims;
                }
                // A reshape that changes the rank does not map dimensions to dimensions; the order of the data is compared instead.
                _ if self.module.rank(data.operands[0]) != self.module.rank(data.results[0]) => break,
                _ => {}
            }
        }
        Some(self.module.shardings.intern(sharding))
    }

    /// Returns the result of an earlier reshard in the same region that distributes the data of `root` as `target` does. Only reshapes may
    /// be between `root` and that reshard.
    fn earlier(&self, op: OpId, root: ValueId, target: ShardingId) -> Option<ValueId> {
        let &result = self.module.ops[op].results.first()?;
        let mut seen: FxHashSet<ValueId> = FxHashSet::default();
        let mut stack = vec![root];
        while let Some(value) = stack.pop() {
            if !seen.insert(value) {
                continue;
            }
            for &(user, _) in self.uses.of(value) {
                let data = &self.module.ops[user];
                if user == op || self.gone[user] || data.operands.first() != Some(&value) {
                    continue;
                }
                match data.kind {
                    OpKind::Reshard(other)
                        if self.comes_first(user, op)
                            && same_data(self.module, (other, data.results[0]), (target, result)) =>
                    {
                        return Some(data.results[0]);
                    }
                    OpKind::Reshape => stack.extend(data.results.first()),
                    _ => {}
                }
            }
        }
        None
    }

    /// Whether both reshards are in the same region, and `first` comes before `second`.
    fn comes_first(&self, first: OpId, second: OpId) -> bool {
        let place = |op: OpId| self.position.get(&op).copied();
        match (place(first), place(second)) {
            (Some((region, i)), Some((other, j))) => region == other && i < j,
            _ => false,
        }
    }

    /// Records the region of each reshard, and the index of the reshard in that region.
    pub(super) fn find_positions(&mut self, body: RegionId) {
        let mut regions = vec![body];
        while let Some(region) = regions.pop() {
            for (i, &op) in self.module.regions[region].ops.iter().enumerate() {
                let data = &self.module.ops[op];
                regions.extend(&data.regions);
                if matches!(data.kind, OpKind::Reshard(_)) {
                    self.position.insert(op, (region, i));
                }
            }
        }
    }
}
