//! Access to the sharding of a value, independently of where the module stores it.
//!
//! Most values have their own sharding. A value that flows through a `while`, `case`, `optimization_barrier`, or a manual or named
//! computation has the sharding of its *owner*: the corresponding result of that operation, or the argument of the computation. If a
//! [`DataFlowEdge`](OpKind::DataFlowEdge) reads the owner, the `DataFlowEdge` stores the sharding instead. `sdy` operations store shardings
//! in their attributes.

use shardc_ir::{
    Module, OpId, OpKind, PackedOption, RegionId, SecondaryMap, ShardingId, TensorSharding, ValueDef, ValueId,
};

use crate::sharding::manual;

/// Finds where the sharding of a value is stored. An instance is valid as long as no region, no data-flow edge and no use of an edge's
/// operand is added or removed.
#[derive(Debug, Default)]
pub struct ShardingAccess {
    /// The operation that contains a region; none for the body of a function.
    parents: SecondaryMap<RegionId, PackedOption<OpId>>,
    /// For each terminator, the operation that contains its region.
    owners: SecondaryMap<OpId, PackedOption<OpId>>,
    /// For each owner, the data-flow edge operation that is its only user, if any.
    edges: SecondaryMap<ValueId, PackedOption<OpId>>,
}

impl ShardingAccess {
    /// Indexes an entire module, in one walk.
    pub fn new(module: &Module) -> Self {
        let mut out = ShardingAccess::default();
        let mut uses: SecondaryMap<ValueId, u32> = SecondaryMap::new();
        let mut edges = Vec::new();
        for op in module.bodies().flat_map(|body| module.walk(body)) {
            let data = &module.ops[op];
            for &region in &data.regions {
                out.parents[region] = op.into();
                if let Some(end) = module.terminator(region) {
                    out.owners[end] = op.into();
                }
            }
            for &operand in &data.operands {
                uses[operand] += 1;
            }
            if let (OpKind::DataFlowEdge(_), Some(&owner)) = (&data.kind, data.operands.first()) {
                edges.push((owner, op));
            }
        }
        // A data-flow edge stores the sharding only if it is the only user of its operand.
        for (owner, edge) in edges {
            if uses[owner] == 1 {
                out.edges[owner] = edge.into();
            }
        }
        out
    }

    /// Returns the operation that contains `region`; `None` for the body of a function.
    pub fn parent(&self, region: RegionId) -> Option<OpId> {
        self.parents[region].expand()
    }

    /// Returns the operation that contains the region with the terminator `end`; `None` for the terminator of a function.
    pub fn owner_of_end(&self, end: OpId) -> Option<OpId> {
        self.owners[end].expand()
    }

    /// Returns the data-flow edge operation that stores the sharding of `owner`, if there is one.
    pub fn edge(&self, owner: ValueId) -> Option<OpId> {
        self.edges[owner].expand()
    }

    /// Returns the sharding of a value, independently of where it is stored.
    pub fn get(&self, module: &mut Module, value: ValueId) -> Option<ShardingId> {
        let owner = self.owner(module, value)?;
        if let Some(OpKind::DataFlowEdge(sharding)) = self.edge(owner).map(|edge| &module.ops[edge].kind) {
            return *sharding;
        }
        match module.values[owner].def() {
            ValueDef::Result(op, i) => result_sharding(module, op, i as usize),
            // The kind is cloned, since `manual::inside` interns shardings and needs mutable access to the module.
            ValueDef::Arg(region, i) => match self.parent(region).map(|op| module.ops[op].kind.clone()) {
                None => module.shardings.of(owner),
                Some(OpKind::ManualComputation(spec)) => manual::inside(module, &spec, i as usize),
                Some(OpKind::NamedComputation(spec)) => spec.in_shardings?.get(i as usize).copied(),
                Some(_) => None,
            },
        }
    }

    /// Sets the sharding of a value. Has no effect on a region argument that cannot have a sharding.
    pub fn set(&self, module: &mut Module, value: ValueId, sharding: ShardingId) {
        let Some(owner) = self.owner(module, value) else { return };
        if let Some(edge) = self.edge(owner) {
            module.ops[edge].kind = OpKind::DataFlowEdge(Some(sharding));
            return;
        }
        match module.values[owner].def() {
            ValueDef::Result(op, i) => set_result_sharding(module, op, i as usize, sharding),
            ValueDef::Arg(region, i) => match self.parent(region) {
                None => module.shardings.set(owner, Some(sharding)),
                Some(op) => set_argument_sharding(module, op, i as usize, sharding),
            },
        }
    }

    /// Returns the owner of `value`, whose sharding is the sharding of `value`; `None` for an argument of a reducer or comparator region.
    pub fn owner(&self, module: &Module, value: ValueId) -> Option<ValueId> {
        let ValueDef::Arg(region, i) = module.values[value].def() else { return Some(value) };
        let Some(op) = self.parent(region) else { return Some(value) };
        let op = &module.ops[op];
        match op.kind {
            OpKind::While => op.results.get(i as usize).copied(),
            OpKind::ManualComputation(_) | OpKind::NamedComputation(_) => Some(value),
            // The owner is that of the operand of `async_start`, which may itself be an argument of another region.
            OpKind::AsyncStart => self.owner(module, *op.operands.get(i as usize)?),
            _ => None,
        }
    }

    /// If a data-flow edge of any of these owners has a sharding, returns one sharding for each owner. An owner whose edge has no sharding
    /// gets an open sharding on the mesh of the first sharding.
    pub fn of_edges(&self, module: &mut Module, owners: &[ValueId]) -> Option<Vec<ShardingId>> {
        let held: Vec<Option<ShardingId>> = owners
            .iter()
            .map(|&owner| match self.edge(owner).map(|edge| &module.ops[edge].kind) {
                Some(OpKind::DataFlowEdge(sharding)) => *sharding,
                _ => None,
            })
            .collect();
        let mesh = module.shardings.get(held.iter().find_map(|&id| id)?).mesh;
        let open = |module: &mut Module, owner: ValueId| {
            let open = TensorSharding::open(mesh, module.rank(owner));
            module.shardings.intern(open)
        };
        Some(held.into_iter().zip(owners).map(|(id, &v)| id.unwrap_or_else(|| open(module, v))).collect())
    }
}

/// Returns the sharding that an operation specifies for result `i`. If only other results of the operation have shardings, returns an open
/// sharding.
pub fn result_sharding(module: &mut Module, op: OpId, i: usize) -> Option<ShardingId> {
    match &module.ops[op].kind {
        OpKind::DataFlowEdge(id) => *id,
        OpKind::ShardingConstraint(id) | OpKind::Reshard(id) => Some(*id),
        OpKind::MeshCollective(collective) => Some(collective.out),
        OpKind::ManualComputation(spec) => spec.out_shardings.get(i).copied(),
        OpKind::NamedComputation(spec) => spec.out_shardings.as_ref()?.get(i).copied(),
        _ => {
            let results = &module.ops[op].results;
            let value = *results.get(i)?;
            if let Some(id) = module.shardings.of(value) {
                return Some(id);
            }
            // `#sdy.sharding_per_value` lists all results or none. So if another result has a sharding, a result without one is parsed as
            // open.
            let mesh = results.iter().find_map(|&v| module.shardings.sharding_of(v))?.mesh;
            let open = TensorSharding::open(mesh, module.rank(value));
            Some(module.shardings.intern(open))
        }
    }
}

/// If some result of the operation has a sharding, assigns a fully open sharding to the results without one: the `sdy.sharding_per_value`
/// attribute has an entry for every result.
pub(crate) fn open_siblings(module: &mut Module, op: OpId) {
    let results = module.ops[op].results.clone();
    let Some(mesh) = results.iter().find_map(|&v| Some(module.shardings.sharding_of(v)?.mesh)) else {
        return;
    };
    for v in results.into_iter().filter(|&v| module.shardings.of(v).is_none()).collect::<Vec<_>>() {
        let open = TensorSharding::open(mesh, module.rank(v));
        let open = module.shardings.intern(open);
        module.shardings.set(v, Some(open));
    }
}

fn set_result_sharding(module: &mut Module, op: OpId, i: usize, sharding: ShardingId) {
    let kind = match &module.ops[op].kind {
        OpKind::DataFlowEdge(_) => OpKind::DataFlowEdge(Some(sharding)),
        OpKind::ShardingConstraint(_) => OpKind::ShardingConstraint(sharding),
        OpKind::Reshard(_) => OpKind::Reshard(sharding),
        OpKind::MeshCollective(collective) => {
            let mut collective = collective.clone();
            collective.out = sharding;
            OpKind::MeshCollective(collective)
        }
        OpKind::ManualComputation(spec) => {
            let mut spec = spec.clone();
            if let Some(out) = spec.out_shardings.get_mut(i) {
                *out = sharding;
            }
            OpKind::ManualComputation(spec)
        }
        OpKind::NamedComputation(spec) => {
            let mut spec = spec.clone();
            let mut all = spec.out_shardings.take();
            let results = module.ops[op].results.clone();
            replace_or_open(module, &mut all, &results, i, sharding);
            spec.out_shardings = all;
            OpKind::NamedComputation(spec)
        }
        _ => {
            if let Some(&value) = module.ops[op].results.get(i) {
                module.shardings.set(value, Some(sharding));
            }
            return;
        }
    };
    module.ops[op].kind = kind;
}

fn set_argument_sharding(module: &mut Module, op: OpId, i: usize, sharding: ShardingId) {
    let kind = match &module.ops[op].kind {
        OpKind::ManualComputation(spec) => {
            let mut spec = spec.clone();
            if let Some(outside) = manual::outside(module, &spec, i, sharding) {
                spec.in_shardings[i] = outside;
            }
            OpKind::ManualComputation(spec)
        }
        OpKind::NamedComputation(spec) => {
            let mut spec = spec.clone();
            let mut all = spec.in_shardings.take();
            let operands = module.ops[op].operands.clone();
            replace_or_open(module, &mut all, &operands, i, sharding);
            spec.in_shardings = all;
            OpKind::NamedComputation(spec)
        }
        _ => return,
    };
    module.ops[op].kind = kind;
}

/// Sets the sharding of value `i` in the list `all`. If there was no list, it is created with open shardings for the other `values`.
fn replace_or_open(
    module: &mut Module,
    all: &mut Option<Vec<ShardingId>>,
    values: &[ValueId],
    i: usize,
    sharding: ShardingId,
) {
    let mesh = module.shardings.get(sharding).mesh;
    let mut list = all.take().unwrap_or_else(|| {
        let open = |&v: &ValueId| {
            let open = TensorSharding::open(mesh, module.rank(v));
            module.shardings.intern(open)
        };
        values.iter().map(open).collect()
    });
    if let Some(place) = list.get_mut(i) {
        *place = sharding;
    }
    *all = Some(list);
}
