//! Manual computations out of the calls that lead into the devices and out of them.
//!
//! In GSPMD's form nothing marks the part of a program that is written for one device: its operations stand among
//! the others, and `@SPMDFullToShardShape` and `@SPMDShardToFullShape` stand at its borders. It is found by data
//! flow: what depends on a value that came in, up to the calls that lead out. Operations that share a local value
//! belong together. Whatever else they use comes in whole on every device; constants and device numbers are made
//! inside.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    AxisList, AxisRef, Diagnostic, EntityRef, FuncId, ManualSpec, Module, OpId, OpKind, RegionId, ShardingId,
    TensorSharding, ValueId,
};

use super::export::without;
use super::import::{Crossing, Import};

use crate::inline::{ValueMap, clone_op};

/// Functions, each before those that it calls.
pub(super) fn callers_first(module: &Module) -> Vec<FuncId> {
    let callees = |func: FuncId| -> Vec<FuncId> {
        let ops = module.funcs[func].body.map(|body| module.walk(body)).unwrap_or_default();
        let callee = |op: OpId| match &module.ops[op].kind {
            OpKind::Call { callee } => module.func_names.get(callee).copied(),
            _ => None,
        };
        ops.into_iter().filter_map(callee).collect()
    };
    let mut seen = vec![false; module.funcs.len()];
    let mut done = Vec::with_capacity(module.funcs.len());
    for root in module.funcs.keys() {
        if std::mem::replace(&mut seen[root.index()], true) {
            continue;
        }
        let mut stack = vec![(root, callees(root).into_iter())];
        while let Some((func, rest)) = stack.last_mut() {
            match rest.next() {
                Some(callee) if !seen[callee.index()] => {
                    seen[callee.index()] = true;
                    stack.push((callee, callees(callee).into_iter()));
                }
                Some(_) => {}
                None => {
                    done.push(*func);
                    stack.pop();
                }
            }
        }
    }
    done.reverse();
    done
}

/// Forms the manual computations of all functions.
pub(super) fn form_all(import: &mut Import<'_>, order: &[FuncId]) {
    if import.crossings.is_empty() && import.marked.is_empty() {
        return;
    }
    // Axes that are manual wherever a function is called.
    let mut contexts: FxHashMap<Box<str>, AxisList> = FxHashMap::default();
    for &func in order {
        let Some(body) = import.module.funcs[func].body else { continue };
        let context = contexts.get(&import.module.funcs[func].name).cloned().unwrap_or_default();
        let mut regions = vec![(body, context)];
        while let Some((region, context)) = regions.pop() {
            if let Err(error) = form(import, region, &context) {
                import.errors.push(*error);
                return;
            }
            for op in import.module.regions[region].ops.clone() {
                let data = &import.module.ops[op];
                let mut inside = context.clone();
                if let OpKind::ManualComputation(spec) = &data.kind {
                    inside.extend(spec.manual_axes.iter().copied());
                    inside.sort_unstable();
                }
                if let OpKind::Call { callee } = &data.kind {
                    let known = contexts.entry(callee.clone()).or_insert_with(|| inside.clone());
                    if *known != inside {
                        let message = format!("@{callee} is called for one device and for several");
                        import.errors.push(
                            Diagnostic::unsupported("SH0345", message)
                                .at(data.span)
                                .hint("inline it: shardc opt --passes inline"),
                        );
                        return;
                    }
                }
                regions.extend(data.regions.iter().map(|&r| (r, inside.clone())));
            }
        }
    }
}

type Res<T> = Result<T, Box<Diagnostic>>;

/// The operations that belong to one manual computation.
#[derive(Clone, Debug, Default)]
struct Part {
    entries: Vec<OpId>,
    members: Vec<OpId>,
    exits: Vec<OpId>,
    /// Its manual axes, those around it included, as its borders say them.
    axes: Option<AxisList>,
    /// The fewest axes along which one of its operations says that it is local.
    fewest: Option<AxisList>,
}

/// Sets that are joined.
struct Sets(Vec<usize>);

impl Sets {
    fn add(&mut self) -> usize {
        self.0.push(self.0.len());
        self.0.len() - 1
    }

    fn root(&mut self, mut set: usize) -> usize {
        while self.0[set] != set {
            self.0[set] = self.0[self.0[set]];
            set = self.0[set];
        }
        set
    }

    fn join(&mut self, a: usize, b: usize) -> usize {
        let (a, b) = (self.root(a), self.root(b));
        let (first, other) = (a.min(b), a.max(b));
        self.0[other] = first;
        first
    }
}

/// Operands, and the values from outside that regions read.
pub(super) fn inputs(module: &Module, op: OpId) -> Vec<ValueId> {
    let data = &module.ops[op];
    let mut out = data.operands.to_vec();
    if data.regions.is_empty() {
        return out;
    }
    let nested: Vec<OpId> = data.regions.iter().flat_map(|&region| module.walk(region)).collect();
    let mut inner: FxHashSet<ValueId> = FxHashSet::default();
    for &region in &data.regions {
        inner.extend(&module.regions[region].args);
    }
    for &op in &nested {
        inner.extend(&module.ops[op].results);
        for &region in &module.ops[op].regions {
            inner.extend(&module.regions[region].args);
        }
    }
    for &op in &nested {
        out.extend(module.ops[op].operands.iter().filter(|v| !inner.contains(v)));
    }
    out
}

fn same_axes(a: &[AxisRef], b: &[AxisRef]) -> bool {
    a.len() == b.len() && a.iter().all(|axis| b.contains(axis))
}

fn within(a: &[AxisRef], b: &[AxisRef]) -> bool {
    a.iter().all(|axis| b.contains(axis))
}

/// Whether an operation gives the same wherever it stands, and has no regions.
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

impl Import<'_> {
    /// Whether this calls the body of a manual computation, as Shardy names it where it passes through XLA, and is not
    /// yet in one.
    fn is_body(&self, op: OpId) -> bool {
        matches!(&self.module.ops[op].kind, OpKind::Call { callee } if callee.contains("xla.sdy.manual_computation_body"))
            && !self.formed.contains(&op)
    }
}

struct Former<'i, 'm> {
    import: &'i mut Import<'m>,
    context: AxisList,
    sets: Sets,
    of_value: FxHashMap<ValueId, usize>,
    parts: FxHashMap<usize, Part>,
    /// The part of each operation that belongs to one.
    of_op: FxHashMap<OpId, usize>,
    /// Constraints that nothing uses any more.
    unused: FxHashSet<OpId>,
}

fn form(import: &mut Import<'_>, region: RegionId, context: &AxisList) -> Res<()> {
    let ops = import.module.regions[region].ops.clone();
    let concerned = ops.iter().any(|op| {
        import.crossings.contains_key(op)
            || import.marked.get(op).is_some_and(|axes| !within(axes, context))
            || import.is_body(*op)
    });
    if !concerned {
        return Ok(());
    }
    let mut former = Former {
        import,
        context: context.clone(),
        sets: Sets(Vec::new()),
        of_value: FxHashMap::default(),
        parts: FxHashMap::default(),
        of_op: FxHashMap::default(),
        unused: FxHashSet::default(),
    };
    former.find(&ops)?;
    former.sink(&ops);
    let (order, parts) = former.schedule(&ops)?;
    let mut out = Vec::with_capacity(order.len());
    for node in order {
        match node {
            Node::Op(op) => out.push(op),
            Node::Part(part) => {
                let Some(part) = parts.get(&part) else { continue };
                out.extend(former.build(part)?);
            }
        }
    }
    out.retain(|op| !former.unused.contains(op));
    former.import.module.regions[region].ops = out;
    Ok(())
}

#[derive(Clone, Copy)]
enum Node {
    Op(OpId),
    Part(usize),
}

impl Former<'_, '_> {
    fn error(&self, op: OpId, message: impl Into<String>, hint: &str) -> Box<Diagnostic> {
        let module = &self.import.module;
        let mut error = Diagnostic::unsupported("SH0345", message).at(module.ops[op].span).hint(hint);
        error.user_loc = module.user_loc(op);
        Box::new(error)
    }

    /// Finds what is local, and what belongs together.
    fn find(&mut self, ops: &[OpId]) -> Res<()> {
        for &op in ops {
            let module = &*self.import.module;
            let kind = &module.ops[op].kind;
            let local: Vec<usize> =
                inputs(module, op).iter().filter_map(|v| self.of_value.get(v).copied()).collect();
            if matches!(kind, OpKind::Return) {
                if local.is_empty() {
                    continue;
                }
                return Err(self.error(
                    op,
                    "a value that is local to each device leaves its region",
                    "what is local can be told from the rest only where both borders are in one region; inline the calls first: shardc opt --passes inline,import-gspmd",
                ));
            }
            let crossing = self.import.crossings.get(&op);
            let exits = crossing.is_some_and(|c| {
                !c.enters && c.outer.as_ref().is_none_or(|outer| same_axes(outer, &self.context))
            });
            let enters = crossing.is_some_and(|c| c.enters) && local.is_empty();
            let marked = self.import.marked.get(&op).is_some_and(|axes| !within(axes, &self.context))
                || self.import.is_body(op);
            // What leads from inner axes to outer ones that are manual too is local to them.
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
                for &result in &self.import.module.ops[op].results {
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
                && !inputs(self.import.module, op).iter().any(|v| self.of_value.contains_key(v));
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
                        "a value that is local along some axes meets one that is local along others",
                        "all that enters one part of the program has the same manual subgroups",
                    ));
                }
                part.axes = Some(axes);
            } else if part.fewest.as_ref().is_none_or(|fewest| axes.len() < fewest.len()) {
                part.fewest = Some(axes);
            }
        }
        Ok(())
    }

    /// The axes along which an operation says that it is local, those around it included.
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

    /// Moves what only one part uses, and what is made of nothing but constants and device numbers, into it.
    fn sink(&mut self, ops: &[OpId]) {
        let mut users: FxHashMap<ValueId, Vec<OpId>> = FxHashMap::default();
        for &op in ops {
            for value in inputs(self.import.module, op) {
                users.entry(value).or_default().push(op);
            }
        }
        let mut made: FxHashSet<ValueId> = FxHashSet::default();
        for &op in ops {
            let data = &self.import.module.ops[op];
            let local = self.of_op.contains_key(&op);
            if !local && is_arithmetic(&data.kind) && data.operands.iter().all(|v| made.contains(v)) {
                made.extend(&data.results);
            }
        }
        let mut moved: FxHashMap<usize, Vec<OpId>> = FxHashMap::default();
        for &op in ops.iter().rev() {
            let module = &*self.import.module;
            let data = &module.ops[op];
            // A broadcast is smaller before than after.
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
            // A sharding of the whole program has no meaning inside.
            for result in self.import.module.ops[op].results.clone() {
                self.import.module.shardings.set(result, None);
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

    /// Orders operations and parts so that each comes after what it uses, and otherwise as they stood.
    fn schedule(&mut self, ops: &[OpId]) -> Res<(Vec<Node>, FxHashMap<usize, Part>)> {
        let parts = std::mem::take(&mut self.parts);
        let position: FxHashMap<OpId, usize> = ops.iter().enumerate().map(|(i, &op)| (op, i)).collect();
        // Nodes are numbered by position: an operation by its own, a part by its last one.
        let mut node_of_part: FxHashMap<usize, usize> = FxHashMap::default();
        for (&id, part) in &parts {
            let all = part.entries.iter().chain(&part.members).chain(&part.exits);
            let last = all.filter_map(|op| position.get(op)).max().copied().unwrap_or(0);
            node_of_part.insert(id, last);
        }
        let node = |op: OpId| match self.of_op.get(&op) {
            Some(part) => node_of_part.get(part).copied(),
            None => position.get(&op).copied(),
        };
        let module = &*self.import.module;
        let mut after: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
        let mut waits: FxHashMap<usize, usize> = FxHashMap::default();
        let mut edges: FxHashSet<(usize, usize)> = FxHashSet::default();
        for &op in ops {
            let Some(to) = node(op) else { continue };
            waits.entry(to).or_default();
            for value in inputs(module, op) {
                let Some(def) = module.def_op(value).filter(|def| position.contains_key(def)) else {
                    continue;
                };
                let Some(from) = node(def) else { continue };
                // Within a part, an exit's result must not come back.
                let is_exit = parts.values().any(|p| p.exits.contains(&def));
                if from == to && is_exit && self.of_op.get(&op) == self.of_op.get(&def) {
                    return Err(self.cycle(op));
                }
                if from != to && edges.insert((from, to)) {
                    after.entry(from).or_default().push(to);
                    *waits.entry(to).or_default() += 1;
                }
            }
        }
        let by_node: FxHashMap<usize, usize> =
            node_of_part.iter().map(|(&part, &node)| (node, part)).collect();
        let last = ops.len().saturating_sub(1);
        let mut ready: BinaryHeap<Reverse<usize>> =
            waits.iter().filter(|&(&n, &w)| w == 0 && n != last).map(|(&n, _)| Reverse(n)).collect();
        let mut out = Vec::with_capacity(waits.len());
        let to_node = |n: usize| by_node.get(&n).map_or_else(|| Node::Op(ops[n]), |&part| Node::Part(part));
        while let Some(Reverse(n)) = ready.pop() {
            out.push(to_node(n));
            for &next in after.get(&n).into_iter().flatten() {
                if let Some(wait) = waits.get_mut(&next) {
                    *wait -= 1;
                    if *wait == 0 && next != last {
                        ready.push(Reverse(next));
                    }
                }
            }
        }
        if out.len() + 1 != waits.len() {
            let op = parts.values().flat_map(|p| &p.entries).min_by_key(|op| position.get(op)).copied();
            return Err(self.cycle(op.unwrap_or(ops[last])));
        }
        out.push(to_node(last));
        Ok((out, parts))
    }

    fn cycle(&self, op: OpId) -> Box<Diagnostic> {
        self.error(
            op,
            "a part of the program that is local to devices needs a whole value that is made of its own results",
            "keep local values apart: what enters after that whole value should use nothing that entered before",
        )
    }

    /// The sharding of a value that enters, and the value itself without its constraint.
    fn entering(&mut self, value: ValueId, local: ValueId, op: OpId) -> Res<(ValueId, TensorSharding)> {
        let module = &*self.import.module;
        if let Some(def) = module.def_op(value) {
            if let OpKind::ShardingConstraint(id) = module.ops[def].kind {
                let sharding = module.shardings.get(id).clone();
                // What enters is constrained by that: a constraint of its own only says it again.
                let only = self.import.uses.of(value).len() == 1;
                let value = module.ops[def].operands.first().copied().filter(|_| only).unwrap_or(value);
                if only {
                    self.unused.insert(def);
                }
                return Ok((value, sharding));
            }
            if let Some(crossing) = self.import.crossings.get(&def)
                && !crossing.enters
                && let Some(index) = module.ops[def].results.iter().position(|&r| r == value)
                && let Some(sharding) = crossing.shardings.get(index)
            {
                return Ok((value, sharding.clone()));
            }
        }
        if let Some(sharding) = module.shardings.sharding_of(value) {
            return Ok((value, sharding.clone()));
        }
        if module.values[value].ty == module.values[local].ty {
            return Ok((value, TensorSharding::replicated(self.import.home.mesh, module.rank(value))));
        }
        let message = format!(
            "it is not said how {} is split into {}",
            module.types.display(module.values[value].ty),
            module.types.display(module.values[local].ty)
        );
        Err(self.error(op, message, "constrain the value before it enters: custom_call @Sharding"))
    }

    /// Checks a sharding at the border, and gives its handle.
    fn border(
        &mut self,
        op: OpId,
        sharding: TensorSharding,
        manual: &[AxisRef],
        whole: ValueId,
        local: ValueId,
    ) -> Res<ShardingId> {
        let module = &mut *self.import.module;
        let mesh = &module.meshes[sharding.mesh];
        let is_manual = |axis: &AxisRef| manual.iter().any(|m| m.axis == axis.axis);
        if let (Some(whole), Some(local)) = (module.tensor(whole), module.tensor(local)) {
            let mut expected = whole.clone();
            for (n, dim) in expected.shape.iter_mut().zip(&sharding.dims) {
                let first = dim.axes.iter().take_while(|axis| is_manual(axis)).count();
                if dim.axes[first..].iter().any(is_manual) {
                    let message = format!(
                        "in {} an axis that is not manual comes before one that is",
                        sharding.display(mesh)
                    );
                    return Err(self.error(op, message, "split each dimension along manual axes first"));
                }
                let parts = mesh.axes_size(&dim.axes[..first]);
                if *n != shardc_ir::DYNAMIC {
                    *n = (*n + parts - 1) / parts;
                }
            }
            if expected.shape != local.shape {
                let message = format!(
                    "{whole} split as {} is {expected} on each device, not {local}",
                    sharding.display(mesh)
                );
                return Err(Box::new(Diagnostic::invalid("SH0346", message).at(module.ops[op].span)));
            }
        }
        Ok(module.shardings.intern(sharding))
    }

    /// The value that leaves: without its constraint, if that only says again what the sharding outside says.
    fn leaving(
        &self,
        value: ValueId,
        sharding: &TensorSharding,
        manual: &[AxisRef],
        members: &mut Vec<OpId>,
    ) -> ValueId {
        let module = &*self.import.module;
        let Some(def) = module.def_op(value).filter(|def| members.contains(def)) else { return value };
        let OpKind::ShardingConstraint(id) = module.ops[def].kind else { return value };
        let again = *module.shardings.get(id) == without(sharding, manual);
        match module.ops[def].operands.first() {
            Some(&operand) if again && self.import.uses.of(value).len() == 1 => {
                members.retain(|&op| op != def);
                operand
            }
            _ => value,
        }
    }

    /// The manual computation of a part; nothing if it does nothing.
    fn build(&mut self, part: &Part) -> Res<Option<OpId>> {
        let all = part.entries.iter().chain(&part.exits).chain(&part.members);
        let Some(&anchor) = all.clone().next() else { return Ok(None) };
        let effects = part.members.iter().any(|&op| {
            let kind = &self.import.module.ops[op].kind;
            matches!(kind, OpKind::Call { .. } | OpKind::CustomCall(_) | OpKind::Opaque(_))
        });
        if part.exits.is_empty() && !effects {
            return Ok(None);
        }
        let home = self.import.home.mesh;
        let everything = || self.import.module.meshes[home].all_axes();
        let axes = part
            .axes
            .clone()
            .or(part.fewest.clone())
            .unwrap_or_else(|| everything().iter().copied().collect());
        let mut manual: AxisList = axes.into_iter().filter(|axis| !self.context.contains(axis)).collect();
        manual.sort_unstable();
        if let Some(axis) = manual.iter().find(|axis| axis.sub.is_some()) {
            let text = self.import.module.meshes[home].axis_text(*axis);
            return Err(self.error(
                anchor,
                format!("only a part of an axis is manual: {text}"),
                "give no mesh: it is inferred from the shardings",
            ));
        }
        let mut spec =
            ManualSpec { in_shardings: Vec::new(), out_shardings: Vec::new(), manual_axes: manual.clone() };
        let (mut operands, mut arg_types) = (Vec::new(), Vec::new());
        let mut map = ValueMap::new();
        let mut locals: Vec<ValueId> = Vec::new();
        for &entry in &part.entries {
            let given = self.import.crossings.get(&entry).map(|c| c.shardings.clone()).unwrap_or_default();
            let (values, results) = (
                self.import.module.ops[entry].operands.clone(),
                self.import.module.ops[entry].results.clone(),
            );
            for (i, (&value, &local)) in values.iter().zip(&results).enumerate() {
                let (value, sharding) = match given.get(i) {
                    Some(sharding) => (value, sharding.clone()),
                    None => self.entering(value, local, entry)?,
                };
                spec.in_shardings.push(self.border(entry, sharding, &manual, value, local)?);
                operands.push(value);
                arg_types.push(self.import.module.values[local].ty);
                locals.push(local);
            }
        }
        // What comes in whole.
        let mut inner: FxHashSet<ValueId> = locals.iter().copied().collect();
        for &op in &part.members {
            inner.extend(&self.import.module.ops[op].results);
        }
        let mesh = spec.in_shardings.first().map_or(home, |&id| self.import.module.shardings.get(id).mesh);
        let free = manual.len() + self.context.len() < self.import.module.meshes[mesh].axes.len();
        let mut members: Vec<OpId> = Vec::with_capacity(part.members.len());
        for &op in part.members.iter().chain(&part.exits) {
            for value in inputs(self.import.module, op) {
                if inner.contains(&value) {
                    continue;
                }
                inner.insert(value);
                if let Some(def) = self.import.module.def_op(value)
                    && matches!(self.import.module.ops[def].kind, OpKind::Constant(_))
                {
                    members.push(clone_op(self.import.module, def, &mut map));
                    let copy = map.get(value);
                    self.import.module.shardings.set(copy, None);
                    continue;
                }
                let rank = self.import.module.rank(value);
                let whole = match free {
                    true => TensorSharding::open(mesh, rank),
                    false => TensorSharding::replicated(mesh, rank),
                };
                spec.in_shardings.push(self.import.module.shardings.intern(whole));
                operands.push(value);
                arg_types.push(self.import.module.values[value].ty);
                locals.push(value);
            }
        }
        members.extend(&part.members);
        self.import.formed.extend(&part.members);
        let (mut returned, mut result_types, mut results) = (Vec::new(), Vec::new(), Vec::new());
        for &exit in &part.exits {
            let shardings = self.import.crossings.get(&exit).map(|c| c.shardings.clone()).unwrap_or_default();
            let data = self.import.module.ops[exit].clone();
            for ((&value, &result), sharding) in data.operands.iter().zip(&data.results).zip(shardings) {
                let value = self.leaving(value, &sharding, &manual, &mut members);
                spec.out_shardings.push(self.border(exit, sharding, &manual, result, value)?);
                returned.push(value);
                result_types.push(self.import.module.values[result].ty);
                results.push(result);
            }
        }
        let module = &mut *self.import.module;
        let region = module.add_region(&arg_types);
        for (&local, &arg) in locals.iter().zip(&module.regions[region].args.clone()) {
            map.insert(local, arg);
        }
        let mut inside = members.clone();
        inside.extend(
            members.iter().flat_map(|&op| module.ops[op].regions.clone()).flat_map(|r| module.walk(r)),
        );
        for op in inside {
            let operands = module.ops[op].operands.iter().map(|&v| map.get(v)).collect();
            module.ops[op].operands = operands;
        }
        let returned: Vec<ValueId> = returned.into_iter().map(|v| map.get(v)).collect();
        let ret = module.add_op(OpKind::Return, &returned, &[], &[]);
        members.push(ret);
        module.regions[region].ops = members;
        let op =
            module.add_op(OpKind::ManualComputation(Box::new(spec)), &operands, &result_types, &[region]);
        for new in [op, ret] {
            module.ops[new].span = module.ops[anchor].span;
            module.ops[new].loc = module.ops[anchor].loc;
        }
        let new = module.ops[op].results.clone();
        for (old, new) in results.into_iter().zip(new) {
            self.import.replaced.insert(old, new);
        }
        Ok(Some(op))
    }
}
