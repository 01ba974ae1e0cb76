//! Chooses the functions that are partitioned separately.

use shardc_ir::limits::MAX_OPERATIONS;
use shardc_ir::{
    Attr, CustomCallSpec, Diagnostic, Effect, FuncId, Module, OpId, OpKind, RegionId, SecondaryMap, Type,
    TypeId,
};

use crate::rules::registry::{Callee, RuleRegistry};

/// If the entry function would exceed `budget` operations with all calls inlined, returns the functions whose calls are kept. Returns
/// `None` if the budget suffices, or if no call can be kept. `order` lists callees first.
///
/// Heuristic: calls of large functions with more than one call site are kept, if possible. The size threshold is halved until the whole
/// program has at most a quarter of the budget. Using the rest of the budget would gain little: kept calls already prevent planning
/// layers together with the surrounding code.
pub(in crate::driver) fn choose(
    module: &Module,
    order: &[FuncId],
    budget: u64,
) -> Option<SecondaryMap<FuncId, bool>> {
    let entry = module.entry()?;
    let facts = Facts::of(module, order, entry, &SecondaryMap::new())?;
    if facts.sizes(order, u64::MAX).of_entry <= budget {
        return None;
    }
    let mut best: Option<Sizes> = None;
    let mut least = (budget / 4).max(1);
    loop {
        let sizes = facts.sizes(order, least);
        let total = sizes.total;
        if best.as_ref().is_none_or(|best| total < best.total) {
            best = Some(sizes);
        }
        if total <= budget / 4 || least == 1 {
            break;
        }
        least /= 2;
    }
    best.filter(|best| best.any && best.total <= MAX_OPERATIONS).map(|best| best.keep)
}

/// Returns the functions for which `rules` requests separate partitioning, by function name or by the name of a composite that they
/// decompose.
///
/// # Errors
/// Returns SH0360 if a requested function cannot be partitioned separately.
pub(in crate::driver) fn requested(
    module: &Module,
    order: &[FuncId],
    rules: &RuleRegistry,
) -> Result<SecondaryMap<FuncId, bool>, Vec<Diagnostic>> {
    let mut keep: SecondaryMap<FuncId, bool> = SecondaryMap::new();
    if !rules.keeps_any() {
        return Ok(keep);
    }
    let mut wanted: Vec<(FuncId, OpId)> = Vec::new();
    for op in module.bodies().flat_map(|body| module.walk(body)) {
        let callee = match &module.ops[op].kind {
            OpKind::Call { callee } if rules.keeps(Callee::Function, callee) => callee,
            OpKind::Composite(spec) if rules.keeps(Callee::Composite, &spec.name) => &spec.decomposition,
            _ => continue,
        };
        let Some(&func) = module.func_names.get(callee) else { continue };
        if !keep[func] && module.funcs[func].body.is_some() {
            keep[func] = true;
            wanted.push((func, op));
        }
    }
    let Some(entry) = module.entry() else { return Ok(keep) };
    let facts = match wanted.is_empty() {
        true => return Ok(keep),
        false => Facts::of(module, order, entry, &keep),
    };
    let refused =
        wanted.iter().filter(|&&(func, _)| facts.as_ref().is_none_or(|facts| !facts.may_stay[func]));
    let error = |&(func, op): &(FuncId, OpId)| {
        let title = module.ops[op].kind.title();
        let message = format!("{title} must be inlined: @{}", module.funcs[func].name);
        let why = match facts {
            Some(_) => {
                "has side effects, manual computations, tensors of unknown sizes or values that are not tensors"
            }
            None => "is in a program with several meshes or with manual computations",
        };
        let mut error = Diagnostic::unsupported("SH0360", format!("{message} {why}"));
        error.user_loc = module.user_loc(op);
        error
            .at(module.ops[op].span)
            .hint("remove the sharding rule of the function, and the option that keeps its calls")
    };
    let errors: Vec<Diagnostic> = refused.map(error).collect();
    if errors.is_empty() { Ok(keep) } else { Err(errors) }
}

/// Properties of each function before inlining.
struct Facts {
    entry: FuncId,
    /// The number of operations, excluding calls.
    own: SecondaryMap<FuncId, u64>,
    /// For each function, the functions that it calls.
    calls: SecondaryMap<FuncId, Vec<FuncId>>,
    /// Whether the function is reachable from the entry function.
    reached: SecondaryMap<FuncId, bool>,
    /// Whether calls of the function may stay calls, instead of being inlined.
    may_stay: SecondaryMap<FuncId, bool>,
    /// The number of call sites in functions reachable from the entry.
    called: SecondaryMap<FuncId, u64>,
}

/// The sizes of functions after inlining, if calls of functions above a size threshold are not inlined.
struct Sizes {
    keep: SecondaryMap<FuncId, bool>,
    any: bool,
    of_entry: u64,
    /// The total size of the entry function and of the functions that are partitioned separately.
    total: u64,
}

impl Facts {
    /// Computes the facts. Returns `None` if no call can be kept in this program. Composites are kept if `kept` contains their
    /// decomposition.
    fn of(
        module: &Module,
        order: &[FuncId],
        entry: FuncId,
        kept: &SecondaryMap<FuncId, bool>,
    ) -> Option<Facts> {
        // Separate partitioning needs one mesh for the whole program: with several, the mesh of a function would depend on the call.
        let mut meshes = module.mesh_names.values();
        let (Some(&mesh), None) = (meshes.next(), meshes.next()) else { return None };
        if module.meshes[mesh].is_maximal() {
            return None;
        }
        let mut facts = Facts {
            entry,
            own: SecondaryMap::new(),
            calls: SecondaryMap::new(),
            reached: SecondaryMap::new(),
            may_stay: SecondaryMap::new(),
            called: SecondaryMap::new(),
        };
        let mut inlined: Vec<FuncId> = vec![entry];
        for &func in order {
            let Some(body) = module.funcs[func].body else { continue };
            let mut may_stay = has_plain_signature(module, func, body);
            for op in module.walk(body) {
                let callee = match &module.ops[op].kind {
                    OpKind::Call { callee } => module.func_names.get(callee).copied(),
                    OpKind::Composite(spec) => {
                        let target = module.func_names.get(&spec.decomposition).copied();
                        inlined.extend(target.filter(|&target| !kept[target]));
                        target
                    }
                    OpKind::Return => continue,
                    _ => None,
                };
                match callee.filter(|&callee| module.funcs[callee].body.is_some()) {
                    Some(callee) => {
                        may_stay &= facts.may_stay[callee];
                        facts.calls[func].push(callee);
                    }
                    None => {
                        may_stay &= is_anywhere(module, op);
                        facts.own[func] += 1;
                    }
                }
            }
            facts.may_stay[func] = may_stay;
        }
        facts.reached[entry] = true;
        for &func in order.iter().rev().filter(|&&func| func == entry || module.funcs[func].body.is_some()) {
            if !facts.reached[func] {
                continue;
            }
            for &callee in &facts.calls[func] {
                facts.reached[callee] = true;
                facts.called[callee] += 1;
            }
        }
        // A function that a manual computation calls operates on local shards. Therefore, no call is kept in a program with manual
        // computations.
        for &func in order.iter().filter(|&&func| facts.reached[func]) {
            let stops = |op: OpId| match &module.ops[op].kind {
                OpKind::ManualComputation(_) => true,
                OpKind::CustomCall(spec) => spec.kept_callee().is_some(),
                _ => false,
            };
            if module.funcs[func].body.is_some_and(|body| module.walk(body).into_iter().any(stops)) {
                return None;
            }
        }
        for func in inlined {
            facts.may_stay[func] = false;
        }
        Some(facts)
    }

    /// Returns the sizes for the case that functions with at least `least` operations and more than one call site are not inlined.
    fn sizes(&self, order: &[FuncId], least: u64) -> Sizes {
        let mut sizes: SecondaryMap<FuncId, u64> = SecondaryMap::new();
        let mut out = Sizes { keep: SecondaryMap::new(), any: false, of_entry: 0, total: 0 };
        for &func in order.iter().filter(|&&func| self.reached[func]) {
            let inlined = |&callee: &FuncId| if out.keep[callee] { 1 } else { sizes[callee].max(1) };
            let size = self.calls[func].iter().map(inlined).fold(self.own[func], u64::saturating_add);
            sizes[func] = size;
            let stays = self.may_stay[func] && self.called[func] > 1 && size >= least;
            if stays {
                (out.keep[func], out.any) = (true, true);
            }
            if stays || func == self.entry {
                out.total = out.total.saturating_add(size);
            }
        }
        out.of_entry = sizes[self.entry];
        out
    }
}

/// Whether all parameters and results of a function are non-empty tensors of known sizes, and none is unreduced.
fn has_plain_signature(module: &Module, func: FuncId, body: RegionId) -> bool {
    let data = &module.funcs[func];
    let is_plain = |ty: TypeId| match module.types.get(ty) {
        Type::Tensor(tensor) => tensor.is_static() && tensor.shape.iter().all(|&n| n > 0),
        Type::Token | Type::Tuple(_) | Type::Quantized(_) | Type::Other(_) => false,
    };
    let dims = |ty: TypeId| module.types.stored(ty).map_or(0, shardc_ir::TensorType::rank);
    let types = || data.params.iter().chain(&data.results).copied();
    let shardings = module.regions[body].args.iter().filter_map(|&arg| module.shardings.sharding_of(arg));
    let declared = data.res_shardings.iter().filter_map(|id| id.expand());
    let mut shardings = shardings.chain(declared.map(|id| module.shardings.get(id)));
    types().all(is_plain)
        && !data.results.is_empty()
        // The rule of a call has at most one factor per dimension, and factor indices have 16 bits.
        && types().map(dims).sum::<usize>() < usize::from(u16::MAX)
        && shardings.all(|sharding| sharding.unreduced.is_empty())
}

/// Whether an operation has the same effect in any function, so that its function can be partitioned separately. Side effects, values other
/// than tensors, sharding groups and manual computations are excluded.
fn is_anywhere(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let by_kind = match &data.kind {
        OpKind::CustomCall(spec) => {
            let effect = |spec: &CustomCallSpec| {
                matches!(spec.props.get("has_side_effect"), Some(Attr::Bool(true) | Attr::Unit))
            };
            !effect(spec) && spec.kept_callee().is_none()
        }
        // A sharding group connects values of several functions.
        OpKind::ShardingGroup { .. } | OpKind::ManualComputation(_) | OpKind::Call { .. } => false,
        OpKind::ShardingConstraint(id) => module.shardings.get(*id).unreduced.is_empty(),
        OpKind::MeshCollective(_) => false,
        kind => matches!(kind.def().effect, Effect::Pure | Effect::MayNotEnd | Effect::Ends | Effect::Holds),
    };
    let is_tensor =
        |&v: &shardc_ir::ValueId| matches!(module.types.get(module.values[v].ty), Type::Tensor(_));
    by_kind && data.operands.iter().chain(&data.results).all(is_tensor)
}
