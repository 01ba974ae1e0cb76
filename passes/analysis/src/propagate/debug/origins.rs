//! Writes `sdy.sharding_origins`: for each axis that a value ever had, the annotation that the axis comes from.

use rustc_hash::FxHashMap;
use shardc_ir::{
    Attr, AttrDict, AxisRef, EntityRef, Mesh, MeshId, Module, OpId, OpKind, PackedOption, PrimaryMap,
    RegionId, SecondaryMap, ShardingId, TensorSharding, ValueDef,
};

use super::{Log, Subject};
use crate::propagate::flow::{owns_args, owns_results};
use crate::propagate::graph::NONE;
use crate::sharding::sub_axes::contains;

const ORIGINS: &str = "sdy.sharding_origins";
const RESULT_ORIGINS: &str = "sdy.result_sharding_origins";
const ARG_ORIGINS: &str = "sdy.block_arg_sharding_origins";
const NAME: &str = "sdy.sharding_origin_name";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Input(u32),
    Output(u32),
    Constraint(u32),
    ManualIn(u32, u32),
    ManualOut(u32, u32),
}

impl Origin {
    fn text(self) -> String {
        match self {
            Origin::Input(i) => format!("input: {i}"),
            Origin::Output(i) => format!("output: {i}"),
            Origin::Constraint(id) => format!("constraint_{id}"),
            Origin::ManualIn(id, i) => format!("mc_{id}_input: {i}"),
            Origin::ManualOut(id, i) => format!("mc_{id}_output: {i}"),
        }
    }
}

/// The axes of one value in order of arrival, and their mesh.
#[derive(Clone, Debug, Default)]
struct AxisOrigins(Vec<(AxisRef, Origin)>);

impl AxisOrigins {
    /// Adds an axis with its origin, unless the axis already has one.
    fn add(&mut self, axis: AxisRef, origin: Origin) {
        if !self.0.iter().any(|(a, _)| *a == axis) {
            self.0.push((axis, origin));
        }
    }

    fn find(&self, axis: AxisRef) -> Option<Origin> {
        // An axis may have arrived in parts and be looked up as a whole, or the reverse.
        let exact = self.0.iter().find(|(a, _)| *a == axis);
        let like = || self.0.iter().find(|(a, _)| contains(*a, axis) || contains(axis, *a));
        exact.or_else(like).map(|(_, origin)| *origin)
    }

    fn dict(&self, mesh: &Mesh, own: Option<Origin>) -> Attr {
        let entry = |&(axis, origin): &(AxisRef, Origin)| {
            let text = if Some(origin) == own { "self".to_owned() } else { origin.text() };
            (mesh.axis_text(axis).into_boxed_str(), Attr::Str(text.into()))
        };
        let mut entries: Vec<_> = self.0.iter().map(entry).collect();
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        Attr::Dict(entries.into_iter().collect())
    }
}

/// For each slot (a group of values that share a sharding), the origins of its axes.
struct Table<'a> {
    subject: &'a Subject<'a>,
    axes: Vec<AxisOrigins>,
    /// For the slot (the stored sharding) of each function result, the slot of the returned value; other slots map to themselves.
    returned: FxHashMap<u32, u32>,
    constraints: FxHashMap<OpId, u32>,
    manual: FxHashMap<OpId, u32>,
    /// The parent operation of each region.
    owners: SecondaryMap<RegionId, PackedOption<OpId>>,
}

pub(super) fn write(log: &Log, module: &mut Module, subject: &Subject<'_>) {
    let returned = subject.graph.func_results.iter().map(|r| (r.result, r.value)).collect();
    let mut table = Table {
        subject,
        axes: vec![AxisOrigins::default(); subject.graph.values.len()],
        returned,
        constraints: FxHashMap::default(),
        manual: FxHashMap::default(),
        owners: SecondaryMap::new(),
    };
    for op in module.bodies().flat_map(|body| module.walk(body)) {
        for &region in &module.ops[op].regions {
            table.owners[region] = op.into();
        }
    }
    table.begin(module);
    for step in &log.steps {
        let slot = |tensor: u32| {
            let slot = step.slots[tensor as usize];
            table.returned.get(&slot).copied().unwrap_or(slot)
        };
        for i in step.axes.iter() {
            let (to, from) = (slot(i.tensor), slot(i.from));
            if to == NONE || from == NONE {
                continue;
            }
            if let Some(origin) = table.axes[from as usize].find(i.axis) {
                table.axes[to as usize].add(i.axis, origin);
            }
        }
    }
    table.finish(module);
}

impl Table<'_> {
    fn add(&mut self, slot: Option<u32>, sharding: &TensorSharding, origin: Origin) {
        let Some(slot) = slot else { return };
        for axis in sharding.split_axes() {
            self.axes[slot as usize].add(axis, origin);
        }
    }

    /// Returns the sharding that a slot (a group of values that share a sharding) has before propagation.
    fn given<'m>(&self, module: &'m Module, slot: Option<u32>) -> Option<&'m TensorSharding> {
        let id = *self.subject.given.get(slot? as usize)?;
        (id != NONE).then(|| module.shardings.get(ShardingId::new(id as usize)))
    }

    /// Adds the origins of constraints, of manual computations, and of the function, in this order.
    fn begin(&mut self, module: &mut Module) {
        let graph = self.subject.graph;
        let ops: Vec<OpId> = module.bodies().flat_map(|body| module.walk_inner_first(body)).collect();
        for &op in &ops {
            let OpKind::ShardingConstraint(id) = module.ops[op].kind else { continue };
            let number = self.constraints.len() as u32;
            self.constraints.insert(op, number);
            let origin = Origin::Constraint(number);
            let data = &module.ops[op];
            let slot = |value: Option<&_>| value.and_then(|&v| graph.slot(v));
            let (result, operand) = (slot(data.results.first()), slot(data.operands.first()));
            self.add(result, module.shardings.get(id), origin);
            if let Some(sharding) = self.given(module, operand) {
                self.add(operand, sharding, origin);
            }
            module.ops[op].attrs.set(NAME, Attr::Str(origin.text().into()));
        }
        for &op in &ops {
            let OpKind::ManualComputation(spec) = &module.ops[op].kind else { continue };
            let number = self.manual.len() as u32;
            self.manual.insert(op, number);
            let data = &module.ops[op];
            let args = data.regions.first().map_or(&[][..], |&r| module.regions[r].args.as_slice());
            for (i, (&id, &operand)) in spec.in_shardings.iter().zip(&data.operands).enumerate() {
                let origin = Origin::ManualIn(number, i as u32);
                let arg = args.get(i).and_then(|&v| graph.slot(v));
                self.add(arg, module.shardings.get(id), origin);
                let operand = graph.slot(operand);
                if let Some(sharding) = self.given(module, operand) {
                    self.add(operand, sharding, origin);
                }
            }
            for (i, (&id, &result)) in spec.out_shardings.iter().zip(&data.results).enumerate() {
                self.add(graph.slot(result), module.shardings.get(id), Origin::ManualOut(number, i as u32));
            }
            module.ops[op].attrs.set(NAME, Attr::Str(format!("mc_{number}").into()));
        }
        for func in module.funcs.values() {
            let Some(body) = func.body else { continue };
            for (i, &arg) in module.regions[body].args.iter().enumerate() {
                let slot = graph.slot(arg);
                if let Some(sharding) = self.given(module, slot) {
                    self.add(slot, sharding, Origin::Input(i as u32));
                }
            }
            let returned = module.terminator(body).map_or(&[][..], |ret| module.ops[ret].operands.as_slice());
            for (i, (&value, id)) in returned.iter().zip(&func.res_shardings).enumerate() {
                if let Some(id) = id.expand() {
                    self.add(graph.slot(value), module.shardings.get(id), Origin::Output(i as u32));
                }
            }
        }
    }

    fn finish(&self, module: &mut Module) {
        let meshes = module.meshes.clone();
        self.results(module, &meshes);
        for (slot, axes) in self.axes.iter().enumerate() {
            let Some(value) = self.subject.graph.values[slot].filter(|_| !axes.0.is_empty()) else {
                continue;
            };
            let Some(mesh) = self.subject.mesh(module, slot as u32).map(|id| &meshes[id]) else { continue };
            match module.values[value].def() {
                ValueDef::Arg(region, i) => {
                    let func = module.funcs.iter().find(|(_, f)| f.body == Some(region)).map(|(id, _)| id);
                    match func {
                        Some(func) => {
                            let dict = axes.dict(mesh, Some(Origin::Input(i)));
                            let attrs = &mut module.funcs[func].arg_attrs;
                            let len = attrs.len().max(i as usize + 1);
                            attrs.resize(len, AttrDict::new());
                            attrs[i as usize].set(ORIGINS, dict);
                        }
                        None => self.inner(module, region, i, axes, mesh),
                    }
                }
                ValueDef::Result(op, i) => self.of_op(module, op, i, axes, mesh),
            }
        }
    }

    /// Writes the origins of function results: those of the returned values.
    fn results(&self, module: &mut Module, meshes: &PrimaryMap<MeshId, Mesh>) {
        for func in module.funcs.keys().collect::<Vec<_>>() {
            let returned = module.funcs[func]
                .body
                .and_then(|body| module.terminator(body))
                .map_or_else(Vec::new, |ret| module.ops[ret].operands.to_vec());
            for (i, &value) in returned.iter().enumerate() {
                let Some(slot) = self.subject.graph.slot(value) else { continue };
                let axes = &self.axes[slot as usize];
                let mesh = self.subject.mesh(module, slot).filter(|_| !axes.0.is_empty());
                let Some(mesh) = mesh else { continue };
                // If several results return the same value, the origin is the last of these results.
                if self.subject.has_edges && returned[i + 1..].contains(&value) {
                    continue;
                }
                let dict = axes.dict(&meshes[mesh], Some(Origin::Output(i as u32)));
                let attrs = &mut module.funcs[func].res_attrs;
                let len = attrs.len().max(i + 1);
                attrs.resize(len, AttrDict::new());
                attrs[i].set(ORIGINS, dict);
            }
        }
    }

    /// Writes the origins of a region argument that has its own sharding.
    fn inner(&self, module: &mut Module, region: RegionId, i: u32, axes: &AxisOrigins, mesh: &Mesh) {
        let Some(op) = self.owners[region].expand() else { return };
        if !owns_args(&module.ops[op].kind) {
            return;
        }
        let own = self.manual.get(&op).map(|&id| Origin::ManualIn(id, i));
        let count = module.regions[region].args.len();
        set_in_list(&mut module.ops[op].attrs, ARG_ORIGINS, i, count, axes.dict(mesh, own));
    }

    fn of_op(&self, module: &mut Module, op: OpId, i: u32, axes: &AxisOrigins, mesh: &Mesh) {
        let data = &module.ops[op];
        let count = data.results.len();
        match &data.kind {
            OpKind::ShardingConstraint(_) => {
                let own = self.constraints.get(&op).map(|&id| Origin::Constraint(id));
                module.ops[op].attrs.set(ORIGINS, axes.dict(mesh, own));
            }
            OpKind::DataFlowEdge(_) => {
                let owner = data.operands.first().map(|&v| module.values[v].def());
                let own = owner.and_then(|def| self.manual_value(def));
                module.ops[op].attrs.set(ORIGINS, axes.dict(mesh, own));
            }
            kind => {
                let flows = owns_results(kind) && !self.subject.has_edges;
                let own = self.manual.get(&op).map(|&id| Origin::ManualOut(id, i)).filter(|_| flows);
                let name = if flows { RESULT_ORIGINS } else { ORIGINS };
                set_in_list(&mut module.ops[op].attrs, name, i, count, axes.dict(mesh, own));
            }
        }
    }

    /// Returns the origin of the axes of a manual computation's argument or result; `None` for other values.
    fn manual_value(&self, def: ValueDef) -> Option<Origin> {
        match def {
            ValueDef::Result(op, i) => self.manual.get(&op).map(|&id| Origin::ManualOut(id, i)),
            ValueDef::Arg(region, i) => {
                let id = *self.manual.get(&self.owners[region].expand()?)?;
                Some(Origin::ManualIn(id, i))
            }
        }
    }
}

/// Sets an entry of a list of dictionaries; missing entries are empty.
fn set_in_list(attrs: &mut AttrDict, name: &str, i: u32, count: usize, dict: Attr) {
    let mut list = match attrs.remove(name) {
        Some(Attr::Array(list)) if list.len() == count => list,
        _ => vec![Attr::Dict(AttrDict::new()); count],
    };
    if let Some(entry) = list.get_mut(i as usize) {
        *entry = dict;
    }
    attrs.set(name, Attr::Array(list));
}
