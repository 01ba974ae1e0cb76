//! Forms manual computations from GSPMD's shape-conversion calls.
//!
//! GSPMD does not mark device-local operations: between `@SPMDFullToShardShape` and `@SPMDShardToFullShape`, they are mixed with other
//! operations. A data-flow analysis finds them: every operation that depends on a local value is local, up to the calls that convert back
//! to global values. Operations that share a local value belong to one manual computation. Their other operands become replicated operands
//! of the computation; constants and device ids are computed inside it.

mod build;
mod find;
mod schedule;

use std::collections::BTreeMap;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{AxisList, AxisRef, Diagnostic, EntityRef, FuncId, Module, OpId, OpKind, RegionId, ValueId};

use super::state::Import;
use crate::transforms::inline::inline_calls_in;

/// Returns the functions in topological order, callers before callees.
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
    // Reverse postorder of the depth-first search is a topological order, since calls do not recurse (I10).
    done.reverse();
    done
}

/// Forms the manual computations of all functions.
pub(super) fn form_all(import: &mut Import<'_>, order: &[FuncId]) {
    if import.crossings.is_empty() && import.marked.is_empty() {
        return;
    }
    // For each function, the manual axes that enclose its calls.
    let mut contexts: FxHashMap<Box<str>, AxisList> = FxHashMap::default();
    for &func in order {
        let Some(body) = import.rw.module.funcs[func].body else { continue };
        let context = contexts.get(&import.rw.module.funcs[func].name).cloned().unwrap_or_default();
        let mut regions = vec![(body, context)];
        while let Some((region, context)) = regions.pop() {
            if let Err(error) = form(import, region, &context) {
                import.errors.push(*error);
                return;
            }
            for op in import.rw.module.regions[region].ops.clone() {
                let data = &import.rw.module.ops[op];
                let mut inside = context.clone();
                if let OpKind::ManualComputation(spec) = &data.kind {
                    inside.extend(spec.manual_axes.iter().copied());
                    inside.sort_unstable();
                }
                if let OpKind::Call { callee } = &data.kind {
                    let known = contexts.entry(callee.clone()).or_insert_with(|| inside.clone());
                    if *known != inside {
                        let message = format!("calls of @{callee} have different manual axes");
                        import.errors.push(
                            Diagnostic::unsupported("SH0345", message)
                                .at(data.span)
                                .hint("inline the calls first: shardc opt --passes inline"),
                        );
                        return;
                    }
                }
                regions.extend(data.regions.iter().map(|&r| (r, inside.clone())));
            }
        }
    }
}

/// Inlines calls in manual computations, because the manual axes of a callee are known only from its caller.
///
/// # Errors
/// Fails as [`inline_calls_in`] does.
pub(super) fn inline_bodies(module: &mut Module) -> Result<(), Vec<Diagnostic>> {
    let ops: Vec<OpId> = module.bodies().flat_map(|body| module.walk(body)).collect();
    let manual = ops.into_iter().filter(|&op| matches!(module.ops[op].kind, OpKind::ManualComputation(_)));
    let regions: Vec<RegionId> = manual.flat_map(|op| module.ops[op].regions.clone()).collect();
    if regions.is_empty() { Ok(()) } else { inline_calls_in(module, &regions) }
}

type Res<T> = Result<T, Box<Diagnostic>>;

/// The operations of one manual computation.
#[derive(Clone, Debug, Default)]
struct ManualPart {
    entries: Vec<OpId>,
    members: Vec<OpId>,
    exits: Vec<OpId>,
    /// The manual axes in the body (including enclosing manual axes), if the calls that enter or leave specify them.
    axes: Option<AxisList>,
    /// The smallest set of manual axes that the annotation of any operation of the body specifies.
    fewest: Option<AxisList>,
}

/// A union-find over the manual computations that are being formed in one region; an element is the index of its parent.
struct Sets(Vec<usize>);

impl Sets {
    fn add(&mut self) -> usize {
        self.0.push(self.0.len());
        self.0.len() - 1
    }

    fn root(&mut self, mut set: usize) -> usize {
        while self.0[set] != set {
            // The loop halves paths. In `join`, the smaller index becomes the root: the indices are in program order, so the result does
            // not depend on the order of unions.
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

/// Returns the operands of an operation, and the values that its regions capture.
pub(super) fn inputs(module: &Module, op: OpId) -> Vec<ValueId> {
    let data = &module.ops[op];
    let mut out = data.operands.to_vec();
    if data.regions.is_empty() {
        return out;
    }
    let nested: Vec<OpId> = data.regions.iter().flat_map(|&region| module.walk(region)).collect();
    // The definitions in all nested regions are collected first, since an operation may use values of any region that encloses it.
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

impl Import<'_> {
    /// Whether `op` is a call that represents a manual computation in Shardy's round-trip form (its callee is the body), and that was not
    /// moved into a manual computation yet.
    fn is_body(&self, op: OpId) -> bool {
        matches!(&self.rw.module.ops[op].kind, OpKind::Call { callee } if callee.contains("xla.sdy.manual_computation_body"))
            && !self.formed.contains(&op)
    }
}

struct Former<'i, 'm> {
    import: &'i mut Import<'m>,
    context: AxisList,
    sets: Sets,
    of_value: FxHashMap<ValueId, usize>,
    parts: BTreeMap<usize, ManualPart>,
    /// The [`ManualPart`] to which each local operation belongs, by its key in `parts`.
    of_op: FxHashMap<OpId, usize>,
    /// Sharding constraints without remaining users.
    unused: FxHashSet<OpId>,
}

fn form(import: &mut Import<'_>, region: RegionId, context: &AxisList) -> Res<()> {
    let ops = import.rw.module.regions[region].ops.clone();
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
        parts: BTreeMap::new(),
        of_op: FxHashMap::default(),
        unused: FxHashSet::default(),
    };
    former.find(&ops)?;
    former.sink(&ops);
    let (order, parts) = former.schedule(&ops)?;
    let mut out = Vec::with_capacity(order.len());
    for node in order {
        match node {
            ScheduleNode::Op(op) => out.push(op),
            ScheduleNode::Part(part) => {
                let Some(part) = parts.get(&part) else { continue };
                out.extend(former.build(part)?);
            }
        }
    }
    out.retain(|op| !former.unused.contains(op));
    former.import.rw.module.set_ops(region, out);
    Ok(())
}

#[derive(Clone, Copy)]
enum ScheduleNode {
    Op(OpId),
    Part(usize),
}

impl Former<'_, '_> {
    fn error(&self, op: OpId, message: impl Into<String>, hint: &str) -> Box<Diagnostic> {
        let module = &self.import.rw.module;
        let mut error = Diagnostic::unsupported("SH0345", message).at(module.ops[op].span).hint(hint);
        error.user_loc = module.user_loc(op);
        Box::new(error)
    }
}
