//! Call inlining: replaces each call by a copy of the callee's body.
//!
//! Later passes then see one function body without calls, and no summaries of callees are needed for shardings, reshards and costs. Each
//! call gets its own copy, since each may need different shardings.
//!
//! ```mlir
//! func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
//!   %0 = func.call @inner(%a) : (tensor<4xf32>) -> tensor<4xf32>
//!   return %0 : tensor<4xf32>
//! }
//! func.func private @inner(%a: tensor<4xf32>) -> tensor<4xf32> {
//!   %0 = stablehlo.sine %a : tensor<4xf32>
//!   return %0 : tensor<4xf32>
//! }
//! ```
//! becomes
//! ```mlir
//! func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
//!   %0 = stablehlo.sine %a : tensor<4xf32>
//!   return %0 : tensor<4xf32>
//! }
//! ```

use petgraph::algo::{kosaraju_scc, toposort};
use petgraph::graph::{DiGraph, EdgeIndex, NodeIndex};
use rustc_hash::FxHashMap;
use shardc_ir::{
    Build, Diagnostic, EntityRef, FuncId, Module, OpId, OpKind, RegionId, Rewriter, SecondaryMap, ShardingId,
    Span, ValueId, ValueMap, clone_op,
};
use smallvec::SmallVec;

use crate::analysis::inlined_size::{check_size, check_size_except};
use crate::analysis::symbols::drop_unused_funcs;

/// For each inlined operation, the stack of calls through which it was inlined.
#[derive(Clone, Debug, Default)]
pub struct CallSites {
    /// For each inlined operation, the index in `calls` of the innermost call that it was inlined from, plus one.
    of: SecondaryMap<OpId, u32>,
    /// Each call that was inlined, with the index in `calls` of the call that encloses it; `None` in the entry function.
    calls: Vec<(OpId, Option<u32>)>,
    known: FxHashMap<(OpId, Option<u32>), u32>,
}

impl CallSites {
    /// Returns the calls through which an operation was inlined, innermost first.
    #[must_use]
    pub fn of(&self, op: OpId) -> Vec<OpId> {
        let mut out = Vec::new();
        let mut at = self.of[op].checked_sub(1);
        while let Some(&(call, inner)) = at.and_then(|at| self.calls.get(at as usize)) {
            out.push(call);
            at = inner;
        }
        out.reverse();
        out
    }

    /// Records that `copies` replace `originals` after `call` was inlined.
    fn note(&mut self, call: OpId, originals: &[OpId], copies: &[OpId]) {
        for (&original, &copy) in originals.iter().zip(copies) {
            let entry = (call, self.of[original].checked_sub(1));
            let next = self.calls.len() as u32;
            // Operations of one inlined body share an entry, so there are as many entries as inlined calls.
            let at = *self.known.entry(entry).or_insert(next);
            if at == next {
                self.calls.push(entry);
            }
            self.of[copy] = at + 1;
        }
    }
}

/// Inlines as [`inline_calls`] does, and returns the call stack of each operation.
///
/// # Errors
/// Returns the same errors as [`inline_calls`].
pub fn inline_calls_tracing(module: &mut Module) -> Result<CallSites, Vec<Diagnostic>> {
    inline_all(module, Some(CallSites::default())).map(Option::unwrap_or_default)
}

/// Replaces every reachable call by a copy of the callee's body, and drops private functions that are no longer referenced. Calls of
/// functions without a body stay.
///
/// A sharding of a callee's parameter, of a call's result or of a callee's result becomes a sharding constraint in place of the call. A
/// named computation (an outlined call) is replaced by its body in the same way, and a composite by its decomposition.
///
/// # Errors
/// Returns an error if a function is recursive, if a callee does not exist, or if the result would be too large for any machine
/// (SH0323).
pub fn inline_calls(module: &mut Module) -> Result<(), Vec<Diagnostic>> {
    inline_all(module, None).map(|_| ())
}

/// Replaces calls as [`inline_calls`] does, except calls of the functions `names` and composites that they decompose. Removes no functions.
///
/// # Errors
/// Returns the same errors as [`inline_calls`].
pub fn inline_calls_except(module: &mut Module, names: &[&str]) -> Result<(), Vec<Diagnostic>> {
    let order = callees_first(module)?;
    let mut keep = SecondaryMap::new();
    for name in names {
        if let Some(&func) = module.func_names.get(*name) {
            keep[func] = true;
        }
    }
    inline_except(module, &order, &keep, None).map(drop)
}

fn inline_all(module: &mut Module, sites: Option<CallSites>) -> Result<Option<CallSites>, Vec<Diagnostic>> {
    let order = callees_first(module)?;
    let sites = inline_except(module, &order, &SecondaryMap::new(), sites)?;
    drop_unused_funcs(module, module.entry());
    Ok(sites)
}

/// Replaces calls as [`inline_calls`] does in the functions `order`, in which callees come first. Calls of the functions in `keep` stay.
/// Removes no functions.
///
/// # Errors
/// Returns SH0323 if the result would be too large for any machine.
pub fn inline_except(
    module: &mut Module,
    order: &[FuncId],
    keep: &SecondaryMap<FuncId, bool>,
    sites: Option<CallSites>,
) -> Result<Option<CallSites>, Vec<Diagnostic>> {
    check_size_except(module, order, keep)?;
    let mut inliner = Inliner { map: ValueMap::new(), named: true, sites, keep };
    let mut rw = Rewriter::new(module);
    // Callees first: copied bodies then contain no calls, and no copy is walked again.
    for &func in order {
        if let Some(body) = rw.module.funcs[func].body {
            inliner.region(&mut rw, body);
        }
    }
    Ok(inliner.sites)
}

/// Replaces every call in these regions, and in the bodies that replace calls, by the callee's body. Then drops private functions that are
/// no longer referenced.
///
/// # Errors
/// Returns SH0323 if the result would be too large for any machine.
pub(crate) fn inline_calls_in(module: &mut Module, regions: &[RegionId]) -> Result<(), Vec<Diagnostic>> {
    check_size(module, &crate::analysis::call_graph::callees_first(module))?;

    let keep = SecondaryMap::new();
    let mut inliner = Inliner { map: ValueMap::new(), named: false, sites: None, keep: &keep };
    let mut rw = Rewriter::new(module);
    for &region in regions {
        // The replacement is repeated until no calls are left, since a copied body may contain calls.
        let calls = |module: &Module| module.walk(region).iter().any(|&op| callee(module, op).is_some());
        while calls(rw.module) {
            inliner.region(&mut rw, region);
        }
    }
    drop(rw);
    drop_unused_funcs(module, module.entry());
    Ok(())
}

/// Checks that every callee exists, and that no function is recursive.
///
/// # Errors
/// Returns an error for each invalid call, and for each group of mutually recursive functions.
pub fn check_calls(module: &Module) -> Result<(), Vec<Diagnostic>> {
    callees_first(module).map(drop)
}

/// Returns all functions, callees before callers.
///
/// # Errors
/// Returns an error if a function is recursive, or if a callee does not exist.
pub fn callees_first(module: &Module) -> Result<Vec<FuncId>, Vec<Diagnostic>> {
    let mut graph: DiGraph<FuncId, OpId> = DiGraph::new();
    let nodes: Vec<NodeIndex> = module.funcs.keys().map(|func| graph.add_node(func)).collect();
    let mut errors = Vec::new();
    // `edges` finds the existing edge of a caller and a callee: `update_edge` would scan all callees of the function for each of its calls.
    let mut edges: FxHashMap<(FuncId, FuncId), EdgeIndex> = FxHashMap::default();
    for (caller, func) in module.funcs.iter() {
        let Some(body) = func.body else { continue };
        for op in module.walk(body) {
            let callee = match &module.ops[op].kind {
                OpKind::Call { callee } => callee,
                OpKind::Composite(spec) if module.func_names.contains_key(&spec.decomposition) => {
                    &spec.decomposition
                }
                _ => continue,
            };
            match module.func_names.get(callee) {
                Some(&target) => {
                    let edge = edges
                        .entry((caller, target))
                        .or_insert_with(|| graph.add_edge(nodes[caller.index()], nodes[target.index()], op));
                    graph[*edge] = op;
                }
                None => errors.push(match module.kept_symbol(callee) {
                    Some(kept) => kept
                        .unsupported("SH0321")
                        .at(module.ops[op].span)
                        .note(kept.span, format!("this part of @{callee} is not supported")),
                    None => Diagnostic::invalid("SH0321", format!("the module has no function @{callee}"))
                        .at(module.ops[op].span),
                }),
            }
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    match toposort(&graph, None) {
        Ok(order) => Ok(order.into_iter().rev().map(|node| graph[node]).collect()),
        Err(_) => Err(cycles(module, &graph)),
    }
}

/// Returns one error for each group of mutually recursive functions.
fn cycles(module: &Module, graph: &DiGraph<FuncId, OpId>) -> Vec<Diagnostic> {
    let mut groups = kosaraju_scc(graph);
    for group in &mut groups {
        group.sort();
    }
    groups.sort();
    let mut errors = Vec::new();
    for group in groups {
        let first = group[0];
        if group.len() == 1 && graph.find_edge(first, first).is_none() {
            continue;
        }
        let mut names = vec![&*module.funcs[graph[first]].name];
        let mut at = first;
        let mut span = Span::NONE;
        // Following the first edge within the group leads back to the start or to a function on the path.
        loop {
            let next = graph.neighbors(at).filter(|n| group.contains(n)).min();
            let Some(next) = next else { break };
            if let Some(edge) = graph.find_edge(at, next).filter(|_| !span.is_some()) {
                span = module.ops[graph[edge]].span;
            }
            let name = &*module.funcs[graph[next]].name;
            let seen = names.contains(&name);
            names.push(name);
            if seen {
                break;
            }
            at = next;
        }
        let path: Vec<String> = names.iter().map(|name| format!("@{name}")).collect();
        errors.push(
            Diagnostic::invalid(
                "SH0322",
                format!("recursive functions are not supported: {}", path.join(" -> ")),
            )
            .at(span)
            .hint("rewrite the recursion as a loop (stablehlo.while)"),
        );
    }
    errors
}

/// Returns the function that `op` calls, and the function's body; `None` if `op` is not a call or the function has no body.
fn callee(module: &Module, op: OpId) -> Option<(FuncId, RegionId)> {
    let OpKind::Call { callee } = &module.ops[op].kind else { return None };
    body_of(module, callee)
}

/// Returns the decomposition function of a composite, and the function's body; `None` if `op` is not a composite.
fn decomposition(module: &Module, op: OpId) -> Option<(FuncId, RegionId)> {
    let OpKind::Composite(spec) = &module.ops[op].kind else { return None };
    body_of(module, &spec.decomposition)
}

fn body_of(module: &Module, callee: &str) -> Option<(FuncId, RegionId)> {
    let func = *module.func_names.get(callee)?;
    Some((func, module.funcs[func].body?))
}

struct Inliner<'a> {
    /// Maps values in the callee's body to values in its inlined copy.
    map: ValueMap,
    /// The call stacks of inlined operations, if they are requested.
    sites: Option<CallSites>,
    /// Whether named computations and composites are also replaced by their bodies.
    named: bool,
    /// Functions whose calls are not inlined.
    keep: &'a SecondaryMap<FuncId, bool>,
}

impl Inliner<'_> {
    fn region(&mut self, rw: &mut Rewriter<'_>, region: RegionId) {
        rw.enter(region);
        while let Some(op) = rw.next_op() {
            let data = &rw.module.ops[op];
            if let (&[operand], &[result]) = (data.operands.as_slice(), data.results.as_slice()) {
                match data.kind {
                    // After inlining, no data flows between functions, so the edge operation is replaced by its operand.
                    OpKind::FuncDataFlowEdge => {
                        rw.replace(&[operand]);
                        continue;
                    }
                    // The semantics of loops and branches already define data flow, so data-flow edge operations are removed; their
                    // shardings become constraints.
                    OpKind::DataFlowEdge(sharding) if self.named => {
                        let sharding = sharding.or(rw.module.shardings.of(result));
                        let value = constrain(rw, operand, sharding);
                        rw.replace(&[value]);
                        continue;
                    }
                    _ => {}
                }
            }
            if self.named && matches!(rw.module.ops[op].kind, OpKind::NamedComputation(_)) {
                self.named(rw, op);
                continue;
            }
            let composite = if self.named { decomposition(rw.module, op) } else { None };
            match callee(rw.module, op).or(composite).filter(|&(func, _)| !self.keep[func]) {
                Some((func, body)) => self.call(rw, op, func, body),
                None => {
                    for nested in rw.module.ops[op].regions.clone() {
                        self.region(rw, nested);
                    }
                }
            }
        }
    }

    /// Replaces a named computation by its body.
    fn named(&mut self, rw: &mut Rewriter<'_>, op: OpId) {
        let OpKind::NamedComputation(spec) = rw.module.ops[op].kind.clone() else { return };
        let Some(&body) = rw.module.ops[op].regions.first() else { return };
        let sharding = |list: &Option<Vec<ShardingId>>, i: usize| list.as_ref()?.get(i).copied();
        let operands = rw.module.ops[op].operands.clone();
        let args = rw.module.regions[body].args.clone();
        for (i, (&arg, &operand)) in args.iter().zip(&operands).enumerate() {
            let value = constrain(rw, operand, sharding(&spec.in_shardings, i));
            rw.stand_for(arg, value);
        }
        self.region(rw, body);
        let mut returned = rw.splice(body);
        for (i, value) in returned.iter_mut().enumerate() {
            *value = constrain(rw, *value, sharding(&spec.out_shardings, i));
        }
        rw.replace(&returned);
    }

    fn call(&mut self, rw: &mut Rewriter<'_>, call: OpId, func: FuncId, body: RegionId) {
        let operands = rw.module.ops[call].operands.clone();
        let params = rw.module.regions[body].args.clone();
        for (&param, &operand) in params.iter().zip(&operands) {
            let sharding = rw.module.shardings.of(param);
            let value = constrain(rw, operand, sharding);
            self.map.insert(param, value);
        }
        let mut returned = SmallVec::<[ValueId; 3]>::new();
        for op in rw.module.regions[body].ops.clone() {
            if matches!(rw.module.ops[op].kind, OpKind::Return) {
                returned = rw.module.ops[op].operands.iter().map(|&v| self.map.get(v)).collect();
            } else {
                let copy = clone_op(rw.module, op, &mut self.map);
                rw.insert(copy);
                if let Some(sites) = &mut self.sites {
                    if rw.module.ops[op].regions.is_empty() {
                        sites.note(call, &[op], &[copy]);
                        continue;
                    }
                    sites.note(call, &with_inner(rw.module, op), &with_inner(rw.module, copy));
                }
            }
        }
        let results = rw.module.ops[call].results.clone();
        for (i, (&result, value)) in results.iter().zip(&mut returned).enumerate() {
            let of_func = rw.module.funcs[func].res_shardings.get(i).and_then(|s| s.expand());
            let sharding = rw.module.shardings.of(result).or(of_func);
            *value = constrain(rw, *value, sharding);
        }
        rw.replace(&returned);
    }
}

/// Returns an operation and all operations nested in its regions.
fn with_inner(module: &Module, op: OpId) -> Vec<OpId> {
    let regions = module.ops[op].regions.iter();
    std::iter::once(op).chain(regions.flat_map(|&region| module.walk(region))).collect()
}

/// Inserts a sharding constraint, unless the value has this sharding already.
pub fn constrain(rw: &mut Rewriter<'_>, value: ValueId, sharding: Option<ShardingId>) -> ValueId {
    let Some(sharding) = sharding else { return value };
    let made_here = rw.module.def_op(value).is_some();
    if rw.module.stored(value).is_none() || (made_here && rw.module.shardings.of(value) == Some(sharding)) {
        return value;
    }
    let ty = rw.module.values[value].ty;
    let result = rw.op1(OpKind::ShardingConstraint(sharding), &[value], ty);
    rw.module.shardings.set(result, Some(sharding));
    result
}
