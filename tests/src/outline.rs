//! Outlines operations of programs into functions; inlining the functions restores the program.

use shardc_ir::{
    AttrDict, EntityRef, Func, FuncId, Module, OpId, OpKind, Span, TensorSharding, TypeId, ValueId, ValueMap,
    Visibility, clone_op,
};

/// Outlines some operations of a function, selected by `seed`, into a function `name`. Two calls replace the operations, and users read
/// results of both calls. For some seeds, an operand of one call is replicated. Returns `None` if the operations' results are unused.
#[must_use]
pub fn outline(module: &Module, func: FuncId, name: &str, seed: u64) -> Option<Module> {
    let mut module = module.clone();
    let body = module.funcs[func].body?;
    let ops = module.regions[body].ops.to_vec();
    let (_, inner) = ops.split_last()?;
    let start = seed as usize % inner.len().max(1);
    let piece = inner.get(start..)?;
    let piece = &piece[..(1 + seed as usize / 16 % piece.len().max(1)).min(piece.len())];
    let rest = &ops[start + piece.len()..];

    let (made, read) = (made(&module, piece), read(&module, piece));
    let mut free: Vec<ValueId> = read.into_iter().filter(|v| !made.contains(v)).collect();
    let mut seen = std::collections::HashSet::new();
    free.retain(|&v| seen.insert(v));
    let read_later = self::read(&module, rest);
    let results = piece.iter().flat_map(|&op| module.ops[op].results.to_vec());
    let out: Vec<ValueId> = results.filter(|v| read_later.contains(v)).collect();
    if out.is_empty() {
        return None;
    }
    let types = |module: &Module, values: &[ValueId]| -> Vec<TypeId> {
        values.iter().map(|&v| module.values[v].ty).collect()
    };
    let (params, results) = (types(&module, &free), types(&module, &out));

    let inside = module.add_region(&params);
    let mut map = ValueMap::new();
    for (i, &value) in free.iter().enumerate() {
        let arg = module.regions[inside].args[i];
        map.insert(value, arg);
    }
    let mut copies: Vec<OpId> = piece.iter().map(|&op| clone_op(&mut module, op, &mut map)).collect();
    let returned: Vec<ValueId> = out.iter().map(|&v| map.get(v)).collect();
    copies.push(module.add_op(OpKind::Return, &returned, &[], &[]));
    module.set_ops(inside, copies);
    module.add_func(Func {
        name: name.into(),
        visibility: Visibility::Private,
        body: Some(inside),
        arg_attrs: vec![AttrDict::new(); params.len()],
        res_attrs: vec![AttrDict::new(); results.len()],
        res_shardings: vec![None.into(); results.len()],
        params,
        results: results.clone(),
        arg_locs: Vec::new(),
        arg_names: Vec::new(),
        arg_spans: Vec::new(),
        res_spans: Vec::new(),
        attrs: AttrDict::new(),
        span: Span::NONE,
        loc: None.into(),
    });

    let mut list = inner[..start].to_vec();
    let call = |module: &mut Module, operands: &[ValueId]| {
        module.add_op(OpKind::Call { callee: name.into() }, operands, &results, &[])
    };
    let first = call(&mut module, &free);
    let mut operands = free;
    let mesh = module.meshes.keys().next();
    if let (Some(mesh), Some(&operand), true) = (mesh, operands.first(), seed.is_multiple_of(3)) {
        let (ty, rank) = (module.values[operand].ty, module.rank(operand));
        let whole = module.shardings.intern(TensorSharding::replicated(mesh, rank));
        let constraint = module.add_op(OpKind::ShardingConstraint(whole), &[operand], &[ty], &[]);
        operands[0] = module.ops[constraint].results[0];
        list.push(constraint);
    }
    let second = call(&mut module, &operands);
    list.extend([first, second]);
    let mut replaced = ValueMap::new();
    for (i, &value) in out.iter().enumerate() {
        let from = if (i + seed as usize).is_multiple_of(2) { second } else { first };
        let result = module.ops[from].results[i];
        replaced.insert(value, result);
    }
    for op in with_inner(&module, rest) {
        for i in 0..module.ops[op].operands.len() {
            let value = module.ops[op].operands[i];
            module.ops[op].operands[i] = replaced.get(value);
        }
    }
    list.extend(rest);
    module.set_ops(body, list);
    Some(module)
}

/// The operations `ops`, and all operations in their regions.
fn with_inner(module: &Module, ops: &[OpId]) -> Vec<OpId> {
    let of = |&op: &OpId| {
        let regions = module.ops[op].regions.iter();
        std::iter::once(op).chain(regions.flat_map(|&region| module.walk(region))).collect::<Vec<_>>()
    };
    ops.iter().flat_map(of).collect()
}

/// The operands of operations, in order.
fn read(module: &Module, ops: &[OpId]) -> Vec<ValueId> {
    with_inner(module, ops).into_iter().flat_map(|op| module.ops[op].operands.to_vec()).collect()
}

/// The results of operations, and the arguments of their regions.
fn made(module: &Module, ops: &[OpId]) -> Vec<ValueId> {
    let all = with_inner(module, ops);
    let args = all.iter().flat_map(|&op| &module.ops[op].regions).flat_map(|&r| &module.regions[r].args);
    let mut out: Vec<ValueId> = args.copied().collect();
    out.extend(all.iter().flat_map(|&op| module.ops[op].results.to_vec()));
    out.sort_by_key(|v| v.index());
    out
}
