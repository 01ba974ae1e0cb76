//! Constants, one copy for each use.
//!
//! A constant costs nothing to make where it is needed, so uses that shard it differently must not meet in it.
//! Before propagation every computation from constants alone, and every broadcast of a scalar, is copied for each
//! use; afterwards copies that ended with the same sharding become one again. Scalars are never copied.

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap, ShardingId, ValueId};
use smallvec::SmallVec;

use crate::inline::{ValueMap, clone_op};
use crate::merge_same::merge_same;

/// What was copied from what.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// The original of each copy.
    original: SecondaryMap<OpId, PackedOption<OpId>>,
    any: bool,
}

struct Splitter<'m> {
    module: &'m mut Module,
    /// Whether an operation computes from constants alone.
    constant: SecondaryMap<OpId, bool>,
    /// Whether it broadcasts a scalar.
    expansion: SecondaryMap<OpId, bool>,
    uses: SecondaryMap<ValueId, u32>,
    /// Sharding group operations on each value that is copied.
    groups: FxHashMap<ValueId, Vec<OpId>>,
    /// Copies that go before an operation.
    before: FxHashMap<OpId, Vec<OpId>>,
    copies: Copies,
    /// From originals to copies, while one use is being served; `copied` lists its entries.
    map: ValueMap,
    copied: Vec<ValueId>,
}

/// Copies constants under a function body for each of their uses.
pub(super) fn split(module: &mut Module, body: RegionId) -> Copies {
    let ops = module.walk(body);
    let mut splitter = Splitter {
        module,
        constant: SecondaryMap::new(),
        expansion: SecondaryMap::new(),
        uses: SecondaryMap::new(),
        groups: FxHashMap::default(),
        before: FxHashMap::default(),
        copies: Copies::default(),
        map: ValueMap::new(),
        copied: Vec::new(),
    };
    for &op in &ops {
        let data = &splitter.module.ops[op];
        for &v in &data.operands {
            splitter.uses[v] += 1;
        }
        if let (OpKind::ShardingGroup { .. }, Some(&v)) = (&data.kind, data.operands.first()) {
            splitter.groups.entry(v).or_default().push(op);
        }
    }
    for &op in &ops {
        splitter.visit(op);
    }
    if splitter.copies.any {
        splitter.place(body, &ops);
    }
    splitter.copies
}

impl Splitter<'_> {
    fn visit(&mut self, op: OpId) {
        let data = &self.module.ops[op];
        if matches!(data.kind, OpKind::ShardingGroup { .. }) {
            return;
        }
        let preserves = preserves_constants(self.module, op);
        let from_constants = |v: &ValueId| self.module.def_op(*v).is_some_and(|def| self.constant[def]);
        if matches!(data.kind, OpKind::Constant(_) | OpKind::Iota { .. })
            || (preserves && data.operands.iter().all(from_constants))
        {
            self.constant[op] = true;
            return;
        }
        if matches!(data.kind, OpKind::BroadcastInDim { .. })
            && data.operands.first().is_some_and(|&v| self.module.rank(v) == 0)
        {
            self.expansion[op] = true;
            return;
        }
        for i in 0..self.module.ops[op].operands.len() {
            let operand = self.module.ops[op].operands[i];
            let Some(def) = self.module.def_op(operand) else { continue };
            if (!self.constant[def] && !self.expansion[def]) || self.module.rank(operand) == 0 {
                continue;
            }
            if self.is_exclusive(operand) {
                continue;
            }
            let copy = self.copy(operand);
            self.uses[operand] -= 1;
            self.uses[copy] += 1;
            self.module.ops[op].operands[i] = copy;
        }
    }

    /// Whether a value and all that it is computed from is used only here.
    fn is_exclusive(&self, value: ValueId) -> bool {
        let mut stack = vec![value];
        while let Some(value) = stack.pop() {
            if self.module.rank(value) == 0 {
                continue;
            }
            let Some(def) = self.module.def_op(value) else { continue };
            if self.uses[value] != 1 {
                return false;
            }
            stack.extend(&self.module.ops[def].operands);
        }
        true
    }

    /// Copies what computes a value, operands first, and returns the copy of the value.
    fn copy(&mut self, value: ValueId) -> ValueId {
        let mut map = std::mem::take(&mut self.map);
        self.copy_into(value, &mut map);
        let copy = map.get(value);
        for old in self.copied.drain(..) {
            map.remove(old);
        }
        self.map = map;
        copy
    }

    fn copy_into(&mut self, value: ValueId, map: &mut ValueMap) {
        let mut stack = vec![(value, false)];
        while let Some((value, operands_done)) = stack.pop() {
            let Some(def) = self.module.def_op(value) else { continue };
            if self.module.rank(value) == 0 || map.get(value) != value {
                continue;
            }
            if operands_done {
                self.copy_one(def, value, map);
            } else {
                stack.push((value, true));
                stack.extend(self.module.ops[def].operands.iter().rev().map(|&v| (v, false)));
            }
        }
    }

    fn copy_one(&mut self, def: OpId, value: ValueId, map: &mut ValueMap) {
        let copy = clone_op(self.module, def, map);
        self.copied.push(value);
        self.copies.any = true;
        self.copies.original[copy] = def.into();
        self.before.entry(def).or_default().push(copy);
        for &v in &self.module.ops[copy].operands {
            self.uses[v] += 1;
        }
        for group in self.groups.get(&value).cloned().unwrap_or_default() {
            let group = clone_op(self.module, group, map);
            self.before.entry(def).or_default().push(group);
            self.uses[map.get(value)] += 1;
        }
    }

    /// Puts the copies into their regions and drops originals that nothing uses any more.
    fn place(&mut self, body: RegionId, ops: &[OpId]) {
        let mut dead: SecondaryMap<OpId, bool> = SecondaryMap::new();
        let originals = ops.iter().rev().copied().filter(|&op| self.expansion[op] || self.constant[op]);
        for op in originals.collect::<Vec<_>>() {
            let results = self.module.ops[op].results.clone();
            let groups: Vec<OpId> =
                results.iter().filter_map(|v| self.groups.get(v)).flatten().copied().collect();
            let used: u32 = results.iter().map(|&v| self.uses[v]).sum();
            if used as usize > groups.len() {
                continue;
            }
            dead[op] = true;
            for group in groups {
                dead[group] = true;
            }
            for &v in &self.module.ops[op].operands {
                self.uses[v] -= 1;
            }
        }
        let mut regions = vec![body];
        while let Some(region) = regions.pop() {
            let old = std::mem::take(&mut self.module.regions[region].ops);
            let mut new = Vec::with_capacity(old.len());
            for op in old {
                if let Some(copies) = self.before.remove(&op) {
                    new.extend(copies);
                }
                if !dead[op] {
                    regions.extend(&self.module.ops[op].regions);
                    new.push(op);
                }
            }
            self.module.regions[region].ops = new;
        }
    }
}

/// Whether an operation computes a constant from constants at no cost.
fn preserves_constants(module: &Module, op: OpId) -> bool {
    match &module.ops[op].kind {
        OpKind::BroadcastInDim { .. } | OpKind::Reshape | OpKind::Slice(_) => true,
        // These are the user's and must stay single.
        OpKind::ShardingConstraint(_) | OpKind::Reshard(_) | OpKind::PropagationBarrier { .. } => false,
        _ => super::schedule::is_elementwise(module, op),
    }
}

/// Makes copies of one original that have the same sharding one operation again.
pub(super) fn merge(module: &mut Module, body: RegionId, copies: &Copies) {
    if !copies.any {
        return;
    }
    type Key = (OpId, SmallVec<[ValueId; 3]>, Option<ShardingId>);
    let mut is_original: SecondaryMap<OpId, bool> = SecondaryMap::new();
    for original in copies.original.values().filter_map(|o| o.expand()) {
        is_original[original] = true;
    }
    merge_same(module, body, |module, _, op| -> Option<Key> {
        let data = &module.ops[op];
        let original = copies.original[op].expand().or(is_original[op].then_some(op))?;
        let &result = data.results.first()?;
        Some((original, data.operands.clone(), module.shardings.of(result)))
    });
}
