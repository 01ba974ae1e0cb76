//! A part of a program as a program of its own.

use indexmap::IndexSet;
use shardc_ir::rewrite::{ValueMap, clone_op, transplant_func};
use shardc_ir::{AttrDict, EntityRef, Func, Module, OpId, OpKind, ValueDef, ValueId, Visibility};

/// A program that was extracted.
pub(crate) struct Extract {
    pub(crate) module: Module,
    /// For each operation of its entry function without the last, the operation that it is a copy of.
    pub(crate) ops: Vec<OpId>,
}

/// The values that an operation and its regions use.
pub(crate) fn uses(module: &Module, op: OpId) -> impl Iterator<Item = ValueId> {
    let inner = module.ops[op].regions.iter().flat_map(|&region| module.walk(region));
    std::iter::once(op).chain(inner).flat_map(|op| module.ops[op].operands.iter().copied())
}

/// The operations of the entry function on which values depend, in its order, and the parameters. Values for which `stops` holds are not
/// followed.
pub(crate) fn reached(
    module: &Module,
    roots: &[ValueId],
    mut stops: impl FnMut(ValueId) -> bool,
) -> Option<(Vec<OpId>, Vec<ValueId>)> {
    let body = module.funcs[module.entry()?].body?;
    let mut seen = vec![false; module.values.len()];
    let mut needed = vec![false; module.ops.len()];
    let mut stack = roots.to_vec();
    let mut params = Vec::new();
    while let Some(value) = stack.pop() {
        if std::mem::replace(&mut seen[value.index()], true) || stops(value) {
            continue;
        }
        match module.values[value].def() {
            ValueDef::Arg(region, _) if region == body => params.push(value),
            ValueDef::Arg(..) => {}
            ValueDef::Result(op, _) => {
                needed[op.index()] = true;
                stack.extend(uses(module, op));
            }
        }
    }
    let ops = module.regions[body].ops.iter().copied().filter(|op| needed[op.index()]).collect();
    Some((ops, params))
}

/// The program that computes `results` from arguments. Each argument stands for the values of its list, which have the same type. `None` if
/// the results also depend on other parameters.
pub(crate) fn extract(module: &Module, args: &[Vec<ValueId>], results: &[ValueId]) -> Option<Extract> {
    let entry = module.entry()?;
    let is_arg: IndexSet<ValueId> = args.iter().flatten().copied().collect();
    let (ops, others) = reached(module, results, |value| is_arg.contains(&value))?;
    if !others.is_empty() {
        return None;
    }
    let mut copy = module.clone();
    copy.shardings.clear_values();
    let types = |copy: &Module, list: &mut dyn Iterator<Item = ValueId>| {
        list.map(|value| copy.values[value].ty).collect::<Vec<_>>()
    };
    let params = types(&copy, &mut args.iter().filter_map(|list| list.first().copied()));
    let returned = types(&copy, &mut results.iter().copied());
    let region = copy.add_region(&params);
    let mut map = ValueMap::new();
    for (list, &arg) in args.iter().zip(&copy.regions[region].args) {
        list.iter().for_each(|&value| map.insert(value, arg));
    }
    for &op in &ops {
        let new = clone_op(&mut copy, op, &mut map);
        copy.push_op(region, new);
    }
    let results: Vec<ValueId> = results.iter().map(|&value| map.get(value)).collect();
    let end = copy.add_op(OpKind::Return, &results, &[], &[]);
    copy.push_op(region, end);
    let name = copy.funcs[entry].name.clone();
    let data = Func::private(&name, region, params, returned);
    copy.funcs[entry] = Func { visibility: Visibility::Default, attrs: AttrDict::new(), ..data };

    let mut compact = Module {
        name: copy.name.clone(),
        attrs: copy.attrs.clone(),
        meshes: copy.meshes.clone(),
        mesh_names: copy.mesh_names.clone(),
        resources: copy.resources.clone(),
        ..Module::default()
    };
    let mut open = vec![entry];
    let mut called = IndexSet::from([entry]);
    while let Some(func) = open.pop() {
        transplant_func(&copy, func, &mut compact);
        for op in copy.funcs[func].body.map(|body| copy.walk(body)).unwrap_or_default() {
            let callee = match &copy.ops[op].kind {
                OpKind::Call { callee } => callee,
                OpKind::Composite(spec) => &spec.decomposition,
                _ => continue,
            };
            let callee = copy.func_names.get(callee).copied()?;
            if called.insert(callee) {
                open.push(callee);
            }
        }
    }
    Some(Extract { module: compact, ops })
}
