//! Copies functions to another module.

use cranelift_entity::packed_option::PackedOption;
use rustc_hash::FxHashMap;

use crate::{Func, FuncId, Loc, LocId, Module, OpId, RegionId, ShardingId, Type, TypeId, ValueId};

/// Copies a function to the end of another module, under its name, with locations and shardings. Calls in it keep the names of their
/// callees. If the function has shardings, the meshes of `into` must be those of `from`, under the same handles.
pub fn transplant_func(from: &Module, func: FuncId, into: &mut Module) -> FuncId {
    let mut copy = Transplant {
        from,
        into,
        types: FxHashMap::default(),
        locs: FxHashMap::default(),
        shardings: FxHashMap::default(),
        values: FxHashMap::default(),
    };
    let mut data: Func = from.funcs[func].clone();
    data.body = data.body.map(|body| copy.region(body));
    for ty in data.params.iter_mut().chain(&mut data.results) {
        *ty = copy.ty(*ty);
    }
    for sharding in &mut data.res_shardings {
        *sharding = sharding.expand().map(|id| copy.sharding(id)).into();
    }
    for loc in data.arg_locs.iter_mut().chain([&mut data.loc]) {
        *loc = copy.loc(*loc);
    }
    into.add_func(data)
}

/// Maps the entities of the module `from` to the entities of the module `into`.
struct Transplant<'a> {
    from: &'a Module,
    into: &'a mut Module,
    types: FxHashMap<TypeId, TypeId>,
    locs: FxHashMap<LocId, LocId>,
    shardings: FxHashMap<ShardingId, ShardingId>,
    values: FxHashMap<ValueId, ValueId>,
}

impl Transplant<'_> {
    fn ty(&mut self, id: TypeId) -> TypeId {
        if let Some(&known) = self.types.get(&id) {
            return known;
        }
        let ty = match self.from.types.get(id) {
            Type::Tuple(items) => Type::Tuple(items.iter().map(|&item| self.ty(item)).collect()),
            other => other.clone(),
        };
        let copy = self.into.types.intern(ty);
        self.types.insert(id, copy);
        copy
    }

    fn sharding(&mut self, id: ShardingId) -> ShardingId {
        let (from, into) = (self.from, &mut *self.into);
        *self.shardings.entry(id).or_insert_with(|| into.shardings.intern(from.shardings.get(id).clone()))
    }

    fn loc(&mut self, loc: PackedOption<LocId>) -> PackedOption<LocId> {
        let Some(loc) = loc.expand() else { return loc };
        // The traversal uses an explicit stack: locations nest as deeply as calls were inlined, and recursion could overflow the stack.
        let mut open = vec![loc];
        while let Some(&id) = open.last() {
            if self.locs.contains_key(&id) {
                open.pop();
                continue;
            }
            let parts: Vec<LocId> = match self.from.locs.get(id) {
                Loc::Name { child, .. } => child.iter().copied().collect(),
                Loc::CallSite { callee, caller } => vec![*callee, *caller],
                Loc::Fused { children, .. } => children.clone(),
                Loc::Unknown | Loc::File { .. } | Loc::Raw(_) => Vec::new(),
            };
            let before = open.len();
            open.extend(parts.into_iter().filter(|part| !self.locs.contains_key(part)));
            if open.len() > before {
                continue;
            }
            let known = |id: &LocId| self.locs[id];
            let copy = match self.from.locs.get(id).clone() {
                Loc::Name { name, child } => Loc::Name { name, child: child.as_ref().map(known) },
                Loc::CallSite { callee, caller } => {
                    Loc::CallSite { callee: known(&callee), caller: known(&caller) }
                }
                Loc::Fused { metadata, children } => {
                    Loc::Fused { metadata, children: children.iter().map(known).collect() }
                }
                other => other,
            };
            let copy = self.into.locs.intern(copy);
            self.locs.insert(id, copy);
            open.pop();
        }
        self.locs.get(&loc).copied().into()
    }

    fn value(&mut self, from: ValueId, to: ValueId) {
        self.values.insert(from, to);
        if let Some(sharding) = self.from.shardings.of(from) {
            let sharding = self.sharding(sharding);
            self.into.shardings.set(to, Some(sharding));
        }
    }

    fn region(&mut self, region: RegionId) -> RegionId {
        let from = self.from;
        let data = &from.regions[region];
        let types: Vec<TypeId> = data.args.iter().map(|&arg| self.ty(from.values[arg].ty)).collect();
        let copy = self.into.add_region(&types);
        let locs = data.arg_locs.iter().map(|&loc| self.loc(loc)).collect();
        self.into.regions[copy].arg_locs = locs;
        for (i, &arg) in data.args.iter().enumerate() {
            let to = self.into.regions[copy].args[i];
            self.value(arg, to);
        }
        let ops = data.ops.iter().map(|&op| self.op(op)).collect();
        self.into.set_ops(copy, ops);
        copy
    }

    fn op(&mut self, op: OpId) -> OpId {
        let from = self.from;
        let data = &from.ops[op];
        let mut kind = data.kind.clone();
        kind.each_sharding_mut(&mut |id| *id = self.sharding(*id));
        let operands: Vec<ValueId> =
            data.operands.iter().filter_map(|v| self.values.get(v).copied()).collect();
        let types: Vec<TypeId> = data.results.iter().map(|&v| self.ty(from.values[v].ty)).collect();
        let regions: Vec<RegionId> = data.regions.iter().map(|&region| self.region(region)).collect();
        let copy = self.into.add_op(kind, &operands, &types, &regions);
        let loc = self.loc(data.loc);
        let new = &mut self.into.ops[copy];
        (new.attrs, new.span, new.loc) = (data.attrs.clone(), data.span, loc);
        for (i, &result) in data.results.iter().enumerate() {
            let to = self.into.ops[copy].results[i];
            self.value(result, to);
        }
        copy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attr, AttrDict, OpKind, TensorSharding, UnaryOp, Visibility};

    #[test]
    fn a_copy_has_its_own_types_shardings_and_locations() {
        let mut from = Module::new();
        let mesh = from.add_mesh("mesh", crate::Mesh::default());
        let _ = from.types.tensor(&[7], crate::DType::I32);
        let ty = from.types.tensor(&[8], crate::DType::F32);
        let inner = from.locs.intern(Loc::Raw("\"inner\"".into()));
        let loc = from.locs.intern(Loc::Name { name: "outer".into(), child: Some(inner) });
        let body = from.add_region(&[ty]);
        let arg = from.regions[body].args[0];
        let sharding = from.shardings.intern(TensorSharding::replicated(mesh, 1));
        from.shardings.set(arg, Some(sharding));
        let op = from.add_op(OpKind::Unary(UnaryOp::Negate), &[arg], &[ty], &[]);
        from.ops[op].loc = loc.into();
        from.ops[op].attrs.set("a", Attr::Unit);
        let constrained =
            from.add_op(OpKind::ShardingConstraint(sharding), &[from.ops[op].results[0]], &[ty], &[]);
        let end = from.add_op(OpKind::Return, &[from.ops[constrained].results[0]], &[], &[]);
        from.set_ops(body, vec![op, constrained, end]);
        let func = from.add_func(Func {
            name: "f".into(),
            visibility: Visibility::Private,
            body: Some(body),
            params: vec![ty],
            results: vec![ty],
            arg_attrs: vec![AttrDict::new()],
            res_attrs: vec![AttrDict::new()],
            res_shardings: vec![Some(sharding).into()],
            arg_locs: Vec::new(),
            arg_names: Vec::new(),
            arg_spans: Vec::new(),
            res_spans: Vec::new(),
            attrs: AttrDict::new(),
            span: crate::Span::NONE,
            loc: PackedOption::default(),
        });

        let mut into = Module::new();
        into.add_mesh("mesh", crate::Mesh::default());
        let open = into.shardings.intern(TensorSharding::open(mesh, 2));
        let copy = transplant_func(&from, func, &mut into);
        crate::verify(&into).unwrap();
        let body = into.funcs[copy].body.unwrap();
        let ops = &into.regions[body].ops;
        assert_eq!(into.types.display(into.funcs[copy].params[0]), "tensor<8xf32>");
        assert!(matches!(into.ops[ops[1]].kind, OpKind::ShardingConstraint(id) if id != open));
        assert!(into.shardings.of(into.regions[body].args[0]).is_some_and(|id| id != open));
        let loc = into.ops[ops[0]].loc.expand().unwrap();
        assert!(matches!(into.locs.get(loc), Loc::Name { child: Some(child), .. }
            if into.locs.get(*child) == from.locs.get(inner)));
    }
}
