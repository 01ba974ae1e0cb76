//! Constant splitting: gives each use of a constant its own copy.
//!
//! Otherwise all uses of a shared constant would have to agree on its sharding, although constants are cheap to create. So before
//! propagation, every constant sub-computation and every broadcast of a scalar is copied for each use. Afterwards, copies with the same
//! sharding are merged. Scalars are never copied.
//!
//! A named computation or a call is a constant sub-computation if its body is one.

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    FuncId, InsertionPoint, Insertions, Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap,
    ShardingId, ValueId, ValueMap, clone_op,
};
use smallvec::SmallVec;

use crate::analysis::call_graph::{callee_of, original_name};
use crate::analysis::symbols::FreshNames;
use crate::transforms::clone_functions::clone_callee;
use crate::transforms::cse::cse;

/// Maps copies to their originals.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// The original of each copy.
    original: SecondaryMap<OpId, PackedOption<OpId>>,
    any: bool,
}

/// Analysis results for functions and named computations, by their original names.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// Names of the functions that were analyzed.
    funcs: FxHashSet<Box<str>>,
    /// Names of the functions in `funcs` whose bodies are not constant sub-computations.
    varying_funcs: FxHashSet<Box<str>>,
    varying_computations: FxHashSet<Box<str>>,
    names: FreshNames,
}

struct Splitter<'m> {
    module: &'m mut Module,
    known: &'m mut Known,
    /// Whether an operation belongs to a constant sub-computation.
    constant: SecondaryMap<OpId, bool>,
    /// Whether an operation broadcasts a scalar.
    expansion: SecondaryMap<OpId, bool>,
    uses: SecondaryMap<ValueId, u32>,
    /// For each value, the `sdy.sharding_group` operations that add it to a group.
    groups: FxHashMap<ValueId, Vec<OpId>>,
    /// The copies to insert, by the operation before which they are inserted.
    before: Insertions,
    copies: Copies,
    /// Maps originals to copies for the current use; `copied` lists the keys.
    map: ValueMap,
    copied: Vec<ValueId>,
}

/// Copies constants in a function for each of their uses. A call counts as constant only if this pass already processed its callee.
pub(super) fn split(module: &mut Module, func: FuncId, body: RegionId, known: &mut Known) -> Copies {
    let name: Box<str> = original_name(&module.funcs[func]).into();
    let mut splitter = Splitter {
        module,
        known,
        constant: SecondaryMap::new(),
        expansion: SecondaryMap::new(),
        uses: SecondaryMap::new(),
        groups: FxHashMap::default(),
        before: Insertions::default(),
        copies: Copies::default(),
        map: ValueMap::new(),
        copied: Vec::new(),
    };
    for op in splitter.module.walk(body) {
        let data = &splitter.module.ops[op];
        for &v in &data.operands {
            splitter.uses[v] += 1;
        }
        if let (OpKind::ShardingGroup { .. }, Some(&v)) = (&data.kind, data.operands.first()) {
            splitter.groups.entry(v).or_default().push(op);
        }
    }
    // Bodies of named computations are analyzed first, since an operation with a named computation is constant only if the body is.
    let mut computations = splitter.module.walk_inner_first(body);
    computations.retain(|&op| is_named_computation(splitter.module, op));
    for op in computations {
        let data = &splitter.module.ops[op];
        let OpKind::NamedComputation(spec) = &data.kind else { continue };
        let (computation, regions) = (spec.name.clone(), data.regions.clone());
        for region in regions {
            if !splitter.region(region) {
                continue;
            }
            splitter.known.varying_computations.insert(computation.clone());
            splitter.known.varying_funcs.insert(name.clone());
        }
    }
    if splitter.region(body) {
        splitter.known.varying_funcs.insert(name.clone());
    }
    splitter.known.funcs.insert(name);
    splitter.copies
}

impl Splitter<'_> {
    /// Processes a region, but not the named computations in it. Returns whether the region depends on non-constant values.
    fn region(&mut self, region: RegionId) -> bool {
        let ops = own_ops(self.module, region);
        let mut varying = false;
        for &op in &ops {
            varying |= self.visit(op);
        }
        self.place(region, &ops);
        varying
    }

    /// Processes an operation. Returns whether the operation cannot belong to a constant sub-computation.
    fn visit(&mut self, op: OpId) -> bool {
        let data = &self.module.ops[op];
        if matches!(data.kind, OpKind::ShardingGroup { .. }) {
            return false;
        }
        let preserves = self.preserves_constants(op);
        let from_constants = |v: &ValueId| self.module.def_op(*v).is_some_and(|def| self.constant[def]);
        if matches!(data.kind, OpKind::Constant(_) | OpKind::Iota { .. })
            || (preserves && data.operands.iter().all(from_constants))
        {
            self.constant[op] = true;
            return false;
        }
        let varying = !preserves && !matches!(data.kind, OpKind::Return);
        if matches!(data.kind, OpKind::BroadcastInDim { .. })
            && data.operands.first().is_some_and(|&v| self.module.rank(v) == 0)
        {
            self.expansion[op] = true;
            return varying;
        }
        for i in 0..self.module.ops[op].operands.len() {
            let operand = self.module.ops[op].operands[i];
            let Some(def) = self.module.def_op(operand) else { continue };
            if (!self.constant[def] && !self.expansion[def]) || self.module.rank(operand) == 0 {
                continue;
            }
            // The last use reads the original instead of a copy, so a constant with one use is never copied.
            if self.is_exclusive(operand) {
                continue;
            }
            let copy = self.copy(operand);
            self.uses[operand] -= 1;
            self.uses[copy] += 1;
            self.module.ops[op].operands[i] = copy;
        }
        varying
    }

    /// Whether an operation with constant operands belongs to a constant sub-computation.
    fn preserves_constants(&self, op: OpId) -> bool {
        match &self.module.ops[op].kind {
            OpKind::BroadcastInDim { .. } | OpKind::Reshape | OpKind::Slice(_) => true,
            // The constraint is an annotation, so it must not be duplicated.
            OpKind::ShardingConstraint(_) => false,
            OpKind::Call { .. } => callee_of(self.module, op).is_some_and(|func| {
                let name = original_name(&self.module.funcs[func]);
                self.known.funcs.contains(name) && !self.known.varying_funcs.contains(name)
            }),
            OpKind::NamedComputation(spec) => !self.known.varying_computations.contains(&spec.name),
            _ => crate::analysis::elementwise::is_elementwise(self.module, op),
        }
    }

    /// Whether a value and everything that computes it have no other users.
    fn is_exclusive(&self, value: ValueId) -> bool {
        let mut stack = vec![value];
        while let Some(value) = stack.pop() {
            if self.module.rank(value) == 0 {
                continue;
            }
            let Some(def) = self.module.def_op(value) else { continue };
            let def = &self.module.ops[def];
            // Uses are summed over all results, since a user of another result also needs the original.
            let uses: u32 = def.results.iter().map(|&result| self.uses[result]).sum();
            // Calls are always copied, so that each call has its own callee.
            if uses != 1 || matches!(def.kind, OpKind::Call { .. }) {
                return false;
            }
            stack.extend(&def.operands);
        }
        true
    }

    /// Copies the computation of a value, operands first, and returns the copied value.
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
            // A value that is reached twice (`a + a`) is copied once: the second time, it is in the map.
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
        self.copied.extend(&self.module.ops[def].results);
        if matches!(self.module.ops[copy].kind, OpKind::Call { .. }) {
            clone_callee(self.module, copy, &mut self.known.names);
        }
        self.copies.any = true;
        self.copies.original[copy] = def.into();
        // The copy is inserted before the original, so that it dominates all users of the original.
        let mut place = InsertionPoint::Before(def);
        self.before.insert(&mut place, copy);
        for &v in &self.module.ops[copy].operands {
            self.uses[v] += 1;
        }
        // Group operations are copied in reverse order, like MLIR's iteration over uses.
        for group in self.groups.get(&value).cloned().unwrap_or_default().into_iter().rev() {
            let group = clone_op(self.module, group, map);
            self.before.insert(&mut place, group);
            self.uses[map.get(value)] += 1;
        }
    }

    /// Inserts the copies into their regions and removes originals without users.
    fn place(&mut self, region: RegionId, ops: &[OpId]) {
        // Broadcasts are removed before the constants that they read, and constants in reverse order, so that users are removed before
        // their operands.
        let expansions = ops.iter().copied().filter(|&op| self.expansion[op]);
        let constants = ops.iter().rev().copied().filter(|&op| self.constant[op]);
        let mut dead: FxHashSet<OpId> = FxHashSet::default();
        for op in expansions.chain(constants).collect::<Vec<_>>() {
            let results = self.module.ops[op].results.clone();
            let groups: Vec<OpId> =
                results.iter().filter_map(|v| self.groups.get(v)).flatten().copied().collect();
            let used: u32 = results.iter().map(|&v| self.uses[v]).sum();
            // The original is dead if only sharding group operations use it, since each copy has its own group operations.
            if used as usize > groups.len() {
                continue;
            }
            dead.insert(op);
            dead.extend(groups);
            for &v in &self.module.ops[op].operands {
                self.uses[v] -= 1;
            }
        }
        if dead.is_empty() && self.before.is_empty() {
            return;
        }
        let as_they_are = ValueMap::new();
        self.before.apply_to(self.module, vec![region], &as_they_are, |op| dead.contains(&op));
    }
}

fn is_named_computation(module: &Module, op: OpId) -> bool {
    matches!(module.ops[op].kind, OpKind::NamedComputation(_))
}

/// Returns all operations under a region in pre-order, except those in named computations.
fn own_ops(module: &Module, region: RegionId) -> Vec<OpId> {
    let mut out = Vec::new();
    let mut stack: Vec<(RegionId, usize)> = vec![(region, 0)];
    while let Some((region, at)) = stack.pop() {
        let Some(&op) = module.regions[region].ops.get(at) else { continue };
        out.push(op);
        stack.push((region, at + 1));
        if !is_named_computation(module, op) {
            stack.extend(module.ops[op].regions.iter().rev().map(|&r| (r, 0)));
        }
    }
    out
}

/// Merges copies of the same original that have the same sharding.
pub(super) fn merge(module: &mut Module, body: RegionId, copies: &Copies) {
    if !copies.any {
        return;
    }
    type Key = (OpId, SmallVec<[ValueId; 3]>, Option<ShardingId>);
    let mut is_original: SecondaryMap<OpId, bool> = SecondaryMap::new();
    for original in copies.original.values().filter_map(|o| o.expand()) {
        is_original[original] = true;
    }
    cse(module, body, |module, _, op| -> Option<Key> {
        let data = &module.ops[op];
        let original = copies.original[op].expand().or(is_original[op].then_some(op))?;
        let &result = data.results.first()?;
        Some((original, data.operands.clone(), module.shardings.of(result)))
    });
}
