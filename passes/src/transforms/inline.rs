//! Call inlining and the cloning of regions.
//!
//! Passes after this one see one function body without calls, so that shardings, reshards and costs need no
//! summary of a callee. A callee that is called from several places is copied to each, since each place may
//! shard it differently.

use std::collections::HashMap;

use petgraph::algo::{kosaraju_scc, toposort};
use petgraph::graph::{DiGraph, NodeIndex};
use shardc_ir::{
    Diagnostic, EntityRef, FuncId, Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap, ShardingId,
    Span, ValueDef, ValueId,
};
use smallvec::SmallVec;

use crate::analysis::inlined_size::check_size;
use crate::analysis::symbols::drop_unused_funcs;

/// New values in place of old ones. A value that is not in the map stands for itself.
#[derive(Clone, Debug, Default)]
pub struct ValueMap(SecondaryMap<ValueId, PackedOption<ValueId>>);

impl ValueMap {
    /// A map without entries.
    #[must_use]
    pub fn new() -> Self {
        ValueMap::default()
    }

    /// What stands for `value`.
    #[must_use]
    pub fn get(&self, value: ValueId) -> ValueId {
        self.0[value].expand().unwrap_or(value)
    }

    /// Nothing stands for `old` any more.
    pub fn remove(&mut self, old: ValueId) {
        self.0[old] = PackedOption::default();
    }

    /// From now on `new` stands for `old`.
    pub fn insert(&mut self, old: ValueId, new: ValueId) {
        self.0[old] = new.into();
    }
}

/// Copies an operation with its regions; no region lists the copy yet. Operands go through `map`, and the
/// results of the copy are entered into it. Span, location, attributes and shardings are those of the original.
pub fn clone_op(module: &mut Module, op: OpId, map: &mut ValueMap) -> OpId {
    let old = module.ops[op].clone();
    let operands: SmallVec<[ValueId; 3]> = old.operands.iter().map(|&v| map.get(v)).collect();
    let types: SmallVec<[_; 2]> = old.results.iter().map(|&v| module.values[v].ty).collect();
    let regions: SmallVec<[RegionId; 1]> =
        old.regions.iter().map(|&region| clone_region(module, region, map)).collect();
    let new = module.add_op(old.kind, &operands, &types, &regions);
    let data = &mut module.ops[new];
    (data.attrs, data.span, data.loc) = (old.attrs, old.span, old.loc);
    let results = data.results.clone();
    for (&from, &to) in old.results.iter().zip(&results) {
        copy_sharding(module, from, to);
        map.insert(from, to);
    }
    new
}

/// Copies a region: its arguments, operations and what is nested in them. Values from outside of the region go
/// through `map`; arguments and results of the copy are entered into it.
pub fn clone_region(module: &mut Module, region: RegionId, map: &mut ValueMap) -> RegionId {
    let args = module.regions[region].args.clone();
    let types: Vec<_> = args.iter().map(|&v| module.values[v].ty).collect();
    let copy = module.add_region(&types);
    for (i, &from) in args.iter().enumerate() {
        let to = module.regions[copy].args[i];
        copy_sharding(module, from, to);
        map.insert(from, to);
    }
    let ops = module.regions[region].ops.clone();
    let copies = ops.into_iter().map(|op| clone_op(module, op, map)).collect();
    module.regions[copy].ops = copies;
    copy
}

fn copy_sharding(module: &mut Module, from: ValueId, to: ValueId) {
    if let Some(sharding) = module.shardings.of(from) {
        module.shardings.set(to, Some(sharding));
    }
}

/// Where operations stood before calls were inlined.
#[derive(Clone, Debug, Default)]
pub struct CallSites {
    /// For each operation that a call brought the last entry of its way, plus one.
    of: SecondaryMap<OpId, u32>,
    /// Each call, and the entry of the call before it: inside of what it calls.
    calls: Vec<(OpId, Option<u32>)>,
    known: HashMap<(OpId, Option<u32>), u32>,
}

impl CallSites {
    /// The calls through which an operation came to where it stands, innermost first.
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

    /// `copies` stand for `originals` after `call`.
    fn note(&mut self, call: OpId, originals: &[OpId], copies: &[OpId]) {
        for (&original, &copy) in originals.iter().zip(copies) {
            let entry = (call, self.of[original].checked_sub(1));
            let next = self.calls.len() as u32;
            let at = *self.known.entry(entry).or_insert(next);
            if at == next {
                self.calls.push(entry);
            }
            self.of[copy] = at + 1;
        }
    }
}

/// As [`inline_calls`], and tells where each operation comes from.
///
/// # Errors
/// As [`inline_calls`].
pub fn inline_calls_tracing(module: &mut Module) -> Result<CallSites, Vec<Diagnostic>> {
    inline_all(module, Some(CallSites::default())).map(Option::unwrap_or_default)
}

/// Replaces every call that the program can reach by a copy of the callee's body, and drops private functions
/// that nothing names any more. Calls of functions without a body stay.
///
/// A sharding of a callee's parameter, of a call's result or of a callee's result becomes a sharding constraint
/// at the place of the call. A named computation is what is left of a call, and is replaced by its body in the same way; a
/// composite by what it decomposes into.
///
/// # Errors
/// A function calls itself, directly or through others, a call names no function, or so many operations would be made
/// that no machine could hold them (SH0323).
pub fn inline_calls(module: &mut Module) -> Result<(), Vec<Diagnostic>> {
    inline_all(module, None).map(|_| ())
}

fn inline_all(module: &mut Module, sites: Option<CallSites>) -> Result<Option<CallSites>, Vec<Diagnostic>> {
    let order = callees_first(module)?;
    check_size(module, &order)?;
    let mut inliner = Inliner { map: ValueMap::new(), replaced: ValueMap::new(), named: true, sites };
    for func in order {
        if let Some(body) = module.funcs[func].body {
            inliner.region(module, body);
        }
    }
    drop_unused_funcs(module, module.entry());
    Ok(inliner.sites)
}

/// Replaces every call in these regions, and in what takes its place, by the body of the function; then drops private
/// functions that nothing names any more.
///
/// # Errors
/// So many operations would be made that no machine could hold them (SH0323).
pub(crate) fn inline_calls_in(module: &mut Module, regions: &[RegionId]) -> Result<(), Vec<Diagnostic>> {
    check_size(module, &crate::analysis::call_graph::callees_first(module))?;

    let mut inliner = Inliner { map: ValueMap::new(), replaced: ValueMap::new(), named: false, sites: None };
    for &region in regions {
        // A body that was copied brings the calls in it along.
        let calls = |module: &Module| module.walk(region).iter().any(|&op| callee(module, op).is_some());
        while calls(module) {
            inliner.region(module, region);
        }
    }
    drop_unused_funcs(module, module.entry());
    Ok(())
}

/// Checks that every call names a function and that none calls itself.
///
/// # Errors
/// One for each such call, and for each group of functions that call each other.
pub(crate) fn check_calls(module: &Module) -> Result<(), Vec<Diagnostic>> {
    callees_first(module).map(drop)
}

/// Every function, each after those that it calls.
///
/// # Errors
/// A function calls itself, directly or through others, or a call names no function that shardc works on.
pub(crate) fn callees_first(module: &Module) -> Result<Vec<FuncId>, Vec<Diagnostic>> {
    let mut graph: DiGraph<FuncId, OpId> = DiGraph::new();
    let nodes: Vec<NodeIndex> = module.funcs.keys().map(|func| graph.add_node(func)).collect();
    let mut errors = Vec::new();
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
                    graph.update_edge(nodes[caller.index()], nodes[target.index()], op);
                }
                None => errors.push(match module.kept_symbol(callee) {
                    Some(kept) => {
                        kept.unsupported("SH0321").at(module.ops[op].span).note(kept.span, "it stands here")
                    }
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

/// One error for each group of functions that call each other.
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
        // Following the first edge inside of the group leads back to where it started or to a function on the way.
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
            Diagnostic::invalid("SH0322", format!("functions call themselves: {}", path.join(" -> ")))
                .at(span)
                .hint("write the repetition as stablehlo.while"),
        );
    }
    errors
}

/// The function that an operation calls, and its body.
fn callee(module: &Module, op: OpId) -> Option<(FuncId, RegionId)> {
    let OpKind::Call { callee } = &module.ops[op].kind else { return None };
    body_of(module, callee)
}

/// The function that says what a composite does, and its body.
fn decomposition(module: &Module, op: OpId) -> Option<(FuncId, RegionId)> {
    let OpKind::Composite(spec) = &module.ops[op].kind else { return None };
    body_of(module, &spec.decomposition)
}

fn body_of(module: &Module, callee: &str) -> Option<(FuncId, RegionId)> {
    let func = *module.func_names.get(callee)?;
    Some((func, module.funcs[func].body?))
}

struct Inliner {
    /// From values of the callee to values of the copy that is being made.
    map: ValueMap,
    /// From results of calls to what the copies return.
    replaced: ValueMap,
    /// Where operations come from, if that is wanted.
    sites: Option<CallSites>,
    /// Whether named computations and composites are replaced too.
    named: bool,
}

impl Inliner {
    fn region(&mut self, module: &mut Module, region: RegionId) {
        let ops = std::mem::take(&mut module.regions[region].ops);
        let mut out = Vec::with_capacity(ops.len());
        for op in ops {
            for operand in &mut module.ops[op].operands {
                *operand = self.replaced.get(*operand);
            }
            if let (&[operand], &[result]) =
                (module.ops[op].operands.as_slice(), module.ops[op].results.as_slice())
            {
                match module.ops[op].kind {
                    // Between functions nothing flows any more.
                    OpKind::FuncDataFlowEdge => {
                        self.replaced.insert(result, operand);
                        continue;
                    }
                    // The compiler knows flow into and out of regions without edges; what they say of it stays said.
                    OpKind::DataFlowEdge(said) if self.named => {
                        let value = match said.or(module.shardings.of(result)) {
                            Some(sharding) => constrain(module, operand, sharding, op, &mut out),
                            None => operand,
                        };
                        self.replaced.insert(result, value);
                        continue;
                    }
                    _ => {}
                }
            }
            if self.named && matches!(module.ops[op].kind, OpKind::NamedComputation(_)) {
                self.named(module, op, &mut out);
                continue;
            }
            let composite = if self.named { decomposition(module, op) } else { None };
            match callee(module, op).or(composite) {
                Some((func, body)) => self.call(module, op, func, body, &mut out),
                None => {
                    for nested in module.ops[op].regions.clone() {
                        self.region(module, nested);
                    }
                    out.push(op);
                }
            }
        }
        module.regions[region].ops = out;
    }

    /// The body of a named computation in its place.
    fn named(&mut self, module: &mut Module, op: OpId, out: &mut Vec<OpId>) {
        let OpKind::NamedComputation(spec) = module.ops[op].kind.clone() else { return };
        let Some(&body) = module.ops[op].regions.first() else { return };
        let sharding = |list: &Option<Vec<ShardingId>>, i: usize| list.as_ref()?.get(i).copied();
        let operands = module.ops[op].operands.clone();
        let args = module.regions[body].args.clone();
        for (i, (&arg, &operand)) in args.iter().zip(&operands).enumerate() {
            let value = match sharding(&spec.in_shardings, i) {
                Some(sharding) => constrain(module, operand, sharding, op, out),
                None => operand,
            };
            self.replaced.insert(arg, value);
        }
        self.region(module, body);
        let ops = std::mem::take(&mut module.regions[body].ops);
        let mut returned: SmallVec<[ValueId; 3]> = SmallVec::new();
        for inner in ops {
            match module.ops[inner].kind {
                OpKind::Return => returned.clone_from(&module.ops[inner].operands),
                _ => out.push(inner),
            }
        }
        let results = module.ops[op].results.clone();
        for (i, (&result, mut value)) in results.iter().zip(returned).enumerate() {
            if let Some(sharding) = sharding(&spec.out_shardings, i) {
                value = constrain(module, value, sharding, op, out);
            }
            self.replaced.insert(result, value);
        }
    }

    fn call(&mut self, module: &mut Module, call: OpId, func: FuncId, body: RegionId, out: &mut Vec<OpId>) {
        let operands = module.ops[call].operands.clone();
        let params = module.regions[body].args.clone();
        for (&param, &operand) in params.iter().zip(&operands) {
            let value = match module.shardings.of(param) {
                Some(sharding) => constrain(module, operand, sharding, call, out),
                None => operand,
            };
            self.map.insert(param, value);
        }
        let mut returned = Vec::new();
        for op in module.regions[body].ops.clone() {
            if matches!(module.ops[op].kind, OpKind::Return) {
                returned = module.ops[op].operands.iter().map(|&v| self.map.get(v)).collect();
            } else {
                let copy = clone_op(module, op, &mut self.map);
                out.push(copy);
                if let Some(sites) = &mut self.sites {
                    sites.note(call, &with_inner(module, op), &with_inner(module, copy));
                }
            }
        }
        let results = module.ops[call].results.clone();
        for (i, (&result, mut value)) in results.iter().zip(returned).enumerate() {
            let of_func = module.funcs[func].res_shardings.get(i).and_then(|s| s.expand());
            if let Some(sharding) = module.shardings.of(result).or(of_func) {
                value = constrain(module, value, sharding, call, out);
            }
            self.replaced.insert(result, value);
        }
    }
}

/// An operation and those under it.
fn with_inner(module: &Module, op: OpId) -> Vec<OpId> {
    let regions = module.ops[op].regions.iter();
    std::iter::once(op).chain(regions.flat_map(|&region| module.walk(region))).collect()
}

/// Appends a sharding constraint, unless the value has this very sharding.
fn constrain(
    module: &mut Module,
    value: ValueId,
    sharding: ShardingId,
    at: OpId,
    out: &mut Vec<OpId>,
) -> ValueId {
    let made_here = matches!(module.values[value].def, ValueDef::Result(..));
    if module.stored(value).is_none() || (made_here && module.shardings.of(value) == Some(sharding)) {
        return value;
    }
    let ty = module.values[value].ty;
    let op = module.add_op(OpKind::ShardingConstraint(sharding), &[value], &[ty], &[]);
    (module.ops[op].span, module.ops[op].loc) = (module.ops[at].span, module.ops[at].loc);
    let result = module.ops[op].results[0];
    module.shardings.set(result, Some(sharding));
    out.push(op);
    result
}
