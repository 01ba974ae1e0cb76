//! A visitor of every sharding of a function in Shardy's order: parameters, results, then operations, each before those in its regions.
//! The order determines the ids of meshes that a visitor adds.

use rustc_hash::FxHashMap;
use shardc_ir::{FuncId, Module, OpKind, ShardingId, TensorSharding, ValueId};

use crate::sharding::access;

/// A function that returns the replacement of a sharding.
pub type Change<'a> = dyn FnMut(&mut Module, &TensorSharding) -> TensorSharding + 'a;

/// Replaces every sharding of a function; `change` is called once for each distinct sharding.
pub fn map_func(module: &mut Module, func: FuncId, change: &mut Change<'_>) {
    Mapper { change, known: FxHashMap::default() }.func(module, func);
}

/// Replaces every sharding of a module; `change` is called once for each distinct sharding.
pub fn map_module(module: &mut Module, change: &mut Change<'_>) {
    let mut mapper = Mapper { change, known: FxHashMap::default() };
    for func in module.funcs.keys().collect::<Vec<_>>() {
        mapper.func(module, func);
    }
}

struct Mapper<'a, 'b> {
    change: &'a mut Change<'b>,
    known: FxHashMap<ShardingId, ShardingId>,
}

impl Mapper<'_, '_> {
    fn one(&mut self, module: &mut Module, id: ShardingId) -> ShardingId {
        if let Some(&known) = self.known.get(&id) {
            return known;
        }
        let sharding = module.shardings.get(id).clone();
        let new = (self.change)(module, &sharding);
        let new = module.shardings.intern(new);
        // The key is the handle of the old sharding. A result that is visited twice (because of `open_siblings`) has the new sharding the
        // second time, which must not be replaced again.
        self.known.insert(id, new);
        new
    }

    fn list(&mut self, module: &mut Module, ids: &mut [ShardingId]) {
        for id in ids {
            *id = self.one(module, *id);
        }
    }

    fn value(&mut self, module: &mut Module, value: ValueId) {
        if let Some(id) = module.shardings.of(value) {
            let new = self.one(module, id);
            module.shardings.set(value, Some(new));
        }
    }

    fn func(&mut self, module: &mut Module, func: FuncId) {
        let body = module.funcs[func].body;
        for arg in body.map_or_else(Vec::new, |body| module.regions[body].args.clone()) {
            self.value(module, arg);
        }
        for i in 0..module.funcs[func].res_shardings.len() {
            if let Some(id) = module.funcs[func].res_shardings[i].expand() {
                module.funcs[func].res_shardings[i] = self.one(module, id).into();
            }
        }
        let Some(body) = body else { return };
        for op in module.walk(body) {
            let mut kind = match &module.ops[op].kind {
                OpKind::ShardingConstraint(_)
                | OpKind::Reshard(_)
                | OpKind::DataFlowEdge(Some(_))
                | OpKind::MeshCollective(_)
                | OpKind::ManualComputation(_)
                | OpKind::NamedComputation(_) => Some(module.ops[op].kind.clone()),
                _ => None,
            };
            match &mut kind {
                Some(
                    OpKind::ShardingConstraint(id) | OpKind::Reshard(id) | OpKind::DataFlowEdge(Some(id)),
                ) => {
                    *id = self.one(module, *id);
                }
                Some(OpKind::MeshCollective(spec)) => {
                    spec.out = self.one(module, spec.out);
                    // The operation stores its mesh separately from its sharding; both must change together.
                    spec.mesh = module.shardings.get(spec.out).mesh;
                }
                Some(OpKind::ManualComputation(spec)) => {
                    self.list(module, &mut spec.in_shardings);
                    self.list(module, &mut spec.out_shardings);
                }
                Some(OpKind::NamedComputation(spec)) => {
                    self.list(module, spec.in_shardings.as_deref_mut().unwrap_or_default());
                    self.list(module, spec.out_shardings.as_deref_mut().unwrap_or_default());
                }
                _ => {}
            }
            if let Some(kind) = kind {
                module.ops[op].kind = kind;
            }
            // Open shardings are added before the results are visited, so that they are replaced too.
            access::open_siblings(module, op);
            for i in 0..module.ops[op].results.len() {
                self.value(module, module.ops[op].results[i]);
            }
            for region in module.ops[op].regions.clone() {
                for arg in module.regions[region].args.clone() {
                    self.value(module, arg);
                }
            }
        }
    }
}
