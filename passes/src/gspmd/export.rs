//! Writes shardings by axes as annotations of GSPMD.

use rustc_hash::FxHashMap;
use shardc_ir::{
    Attr, AttrDict, AxisList, AxisRef, CustomCallSpec, Diagnostic, Mesh, Module, OpId, OpKind, RegionId,
    ShardingId, TensorSharding, TypeId, ValueId, ValueMap,
};
use smallvec::SmallVec;

use super::collect::SHARDING;
use super::hlo::{Devices, HloSharding, Leaf, LeafKind, ShardGroup, Subgroup, Tiling};
use super::manual::{callers_first, inputs};
use super::tiles::{Digit, list_digits, positions, row_major, to_devices};
use crate::analysis::regions::has_program_regions;
use crate::sharding::axes::{Part, Parts, parts};

/// The sharding of XLA that places a value as `sharding` does. `manual` are the axes along which the value is local
/// to the device.
#[must_use]
pub fn to_hlo(mesh: &Mesh, sharding: &TensorSharding, manual: &[AxisRef]) -> HloSharding {
    if mesh.is_maximal() {
        let device = mesh.device_ids.as_ref().and_then(|ids| ids.first().copied()).unwrap_or(0);
        return LeafKind::Maximal(device).into();
    }
    if mesh.axes.values().all(|&n| n == 1) {
        return if manual.is_empty() { LeafKind::Replicated } else { LeafKind::Manual }.into();
    }
    let open = sharding.dims.iter().all(|d| d.open && d.axes.is_empty());
    if open && !sharding.dims.is_empty() && sharding.unreduced.is_empty() && manual.is_empty() {
        return LeafKind::Unknown.into();
    }
    let of_dims: Vec<Parts> = sharding.dims.iter().map(|d| parts(mesh, &d.axes)).collect();
    let groups =
        [(Subgroup::Manual, parts(mesh, manual)), (Subgroup::Unreduced, parts(mesh, &sharding.unreduced))];
    let used: Vec<Part> =
        of_dims.iter().flatten().chain(groups.iter().flat_map(|(_, parts)| parts)).copied().collect();
    let rest = (Subgroup::Replicated, unused(mesh, used));
    let sizes: Vec<i64> = mesh.axes.values().copied().collect();
    let strides = row_major(&sizes);
    let digit = |part: &Part| {
        let axis = usize::from(part.axis);
        let stride = strides[axis] * (sizes[axis] / (i64::from(part.pre) * i64::from(part.size)));
        Digit { stride, size: i64::from(part.size) }
    };
    let (mut dims, mut digits, mut subgroups) = (Vec::new(), Vec::new(), SmallVec::new());
    let mut add = |parts: &Parts| {
        dims.push(parts.iter().map(|p| i64::from(p.size)).product());
        digits.extend(parts.iter().map(digit));
    };
    of_dims.iter().for_each(&mut add);
    for (kind, parts) in groups.iter().chain([&rest]) {
        if !parts.is_empty() {
            add(parts);
            subgroups.push(*kind);
        }
    }
    let devices = match &mesh.device_ids {
        None => to_devices(&digits),
        Some(ids) => {
            let list: Vec<i64> = positions(&digits)
                .into_iter()
                .filter_map(|p| ids.get(usize::try_from(p).ok()?).copied())
                .collect();
            match list_digits(&[list.len() as i64], list.clone(), 0).as_deref() {
                Some([digits]) => to_devices(digits),
                _ => Devices::List(list),
            }
        }
    };
    Tiling { dims, devices, subgroups }.canonical().into()
}

/// What is left of the axes of a mesh, major to minor.
fn unused(mesh: &Mesh, mut used: Vec<Part>) -> Parts {
    used.sort_unstable();
    let mut out = Parts::new();
    for (axis, &size) in mesh.axes.values().enumerate() {
        let mut done = 1u32;
        let size = u32::try_from(size).unwrap_or(u32::MAX);
        for part in used.iter().filter(|p| usize::from(p.axis) == axis) {
            if part.pre > done {
                out.push(Part { axis: part.axis, pre: done, size: part.pre / done });
            }
            done = part.pre * part.size;
        }
        if size > done {
            out.push(Part { axis: axis as u16, pre: done, size: size / done });
        }
    }
    out
}

/// Writes every sharding of a program as `mhlo.sharding`, constraints and reshards as `@Sharding`, manual
/// computations as `@SPMDFullToShardShape` and `@SPMDShardToFullShape`. Afterwards the program has no mesh.
///
/// A program without a mesh that says for how many devices it is, as one that is partitioned does, stays as it is.
///
/// What GSPMD cannot say is lost: priorities, explicitly replicated axes, propagation barriers, and openness save
/// that of constraints.
///
/// # Errors
/// The shardings are on several meshes of different devices (`SH0348`).
pub fn export_gspmd(module: &mut Module) -> Result<(), Vec<Diagnostic>> {
    let says = |name: &str| module.attrs.get(name).is_some();
    if module.mesh_names.is_empty() && (says("mhlo.num_partitions") || says("mhlo.num_replicas")) {
        return Ok(());
    }
    let mut devices = 1;
    for mesh in module.mesh_names.values().map(|&id| &module.meshes[id]).filter(|mesh| !mesh.is_maximal()) {
        let n = mesh.num_devices();
        if devices != 1 && n != 1 && n != devices {
            let message = format!("the program has meshes of {devices} and of {n} devices");
            return Err(vec![Diagnostic::unsupported("SH0348", message)]);
        }
        devices = devices.max(n);
    }
    let mut export = Export { module, replaced: ValueMap::new() };
    export.funcs();
    export.resolve_uses();
    module.shardings.clear_values();
    module.mesh_names.clear();
    for (name, n) in [("mhlo.num_partitions", devices as i64), ("mhlo.num_replicas", 1)] {
        module.attrs.set(name, Attr::Int(n, "i32".into()));
    }
    Ok(())
}

struct Export<'m> {
    module: &'m mut Module,
    replaced: ValueMap,
}

impl Export<'_> {
    fn funcs(&mut self) {
        let mut contexts: FxHashMap<Box<str>, AxisList> = FxHashMap::default();
        for id in callers_first(self.module) {
            let context = contexts.get(&self.module.funcs[id].name).cloned().unwrap_or_default();
            if let Some(body) = self.module.funcs[id].body {
                for (i, arg) in self.module.regions[body].args.clone().into_iter().enumerate() {
                    let text = self.module.shardings.of(arg).map(|s| self.text(s, &context));
                    let attrs = self.module.funcs[id].arg_attrs.get_mut(i);
                    if let (Some(text), Some(attrs)) = (text, attrs) {
                        attrs.set(SHARDING, text);
                    }
                }
                self.regions(body, context.clone(), &mut contexts);
            }
            let results = std::mem::take(&mut self.module.funcs[id].res_shardings);
            for (i, sharding) in results.iter().enumerate() {
                let text = sharding.expand().map(|s| self.text(s, &context));
                let attrs = self.module.funcs[id].res_attrs.get_mut(i);
                if let (Some(text), Some(attrs)) = (text, attrs) {
                    attrs.set(SHARDING, text);
                }
            }
        }
    }

    fn text(&self, sharding: ShardingId, manual: &[AxisRef]) -> Attr {
        let sharding = self.module.shardings.get(sharding);
        Attr::Str(to_hlo(&self.module.meshes[sharding.mesh], sharding, manual).to_string().into())
    }

    fn regions(&mut self, body: RegionId, context: AxisList, contexts: &mut FxHashMap<Box<str>, AxisList>) {
        let mut regions = vec![(body, context)];
        while let Some((region, context)) = regions.pop() {
            let mut out = Vec::new();
            // Operations that are still to come, the next one last, with the axes that are manual around them.
            let ops = std::mem::take(&mut self.module.regions[region].ops);
            let mut rest: Vec<(Step, AxisList)> =
                ops.into_iter().rev().map(|op| (Step::Op(op), context.clone())).collect();
            while let Some((step, context)) = rest.pop() {
                let op = match step {
                    Step::Op(op) => op,
                    Step::Leave(op) => {
                        self.leave(op, &context, &mut out);
                        continue;
                    }
                };
                if let OpKind::Call { callee } = &self.module.ops[op].kind {
                    contexts.entry(callee.clone()).or_insert_with(|| context.clone());
                }
                if let OpKind::ManualComputation(spec) = &self.module.ops[op].kind {
                    let mut inside = context.clone();
                    inside.extend(spec.manual_axes.iter().copied());
                    self.enter(op, &context, &inside, &mut out);
                    rest.push((Step::Leave(op), context));
                    let body = self.module.ops[op].regions.first().copied();
                    let ops = body.map(|body| self.module.regions[body].ops.clone()).unwrap_or_default();
                    let inner =
                        ops.into_iter().filter(|&op| !matches!(self.module.ops[op].kind, OpKind::Return));
                    let inner: Vec<_> = inner.map(|op| (Step::Op(op), inside.clone())).collect();
                    rest.extend(inner.into_iter().rev());
                    continue;
                }
                // What combines single elements is not sharded.
                if has_program_regions(&self.module.ops[op].kind) {
                    regions.extend(self.module.ops[op].regions.iter().map(|&r| (r, context.clone())));
                }
                self.op(op, &context, &mut out);
            }
            self.module.regions[region].ops = out;
        }
    }

    fn op(&mut self, op: OpId, manual: &[AxisRef], out: &mut Vec<OpId>) {
        let data = &self.module.ops[op];
        let constraint = match &data.kind {
            OpKind::ShardingConstraint(id) | OpKind::Reshard(id) => Some(*id),
            OpKind::MeshCollective(collective) => Some(collective.out),
            OpKind::PropagationBarrier { .. } => {
                if let (Some(&operand), Some(&result)) = (data.operands.first(), data.results.first()) {
                    self.replaced.insert(result, operand);
                }
                return;
            }
            OpKind::ShardingGroup { id } => {
                let leaf = Leaf { kind: LeafKind::Unknown, group: Some(ShardGroup::As(*id)) };
                if let Some(&operand) = data.operands.first() {
                    let ty = self.module.values[operand].ty;
                    let text = Attr::Str(leaf.to_string().into());
                    let new = self.call("Sharding", operand, ty, text, &[], op, out);
                    if let Some(def) = self.module.def_op(new)
                        && let OpKind::CustomCall(call) = &mut self.module.ops[def].kind
                    {
                        // Nothing uses it, but it says something.
                        call.props.set("has_side_effect", Attr::Bool(true));
                    }
                }
                return;
            }
            _ => None,
        };
        if let Some(id) = constraint {
            let text = self.text(id, manual);
            let kind = call_kind("Sharding", &open_dims(self.module.shardings.get(id)));
            let data = &mut self.module.ops[op];
            data.kind = kind;
            data.attrs.set(SHARDING, text);
            out.push(op);
            return;
        }
        let results = data.results.clone();
        let fixed = !matches!(data.kind, OpKind::While) || keeps_its_values(self.module, op);
        let said = |&r: &ValueId| self.module.shardings.of(r).is_some();
        // Constants are the same everywhere.
        let local =
            self.all_manual(manual) && !results.is_empty() && !matches!(data.kind, OpKind::Constant(_));
        if fixed && (results.iter().any(said) || local) {
            let leaves: Vec<Leaf> = results.iter().map(|&r| self.leaf(r, manual)).collect();
            let sharding = match <[Leaf; 1]>::try_from(leaves) {
                Ok([leaf]) => HloSharding::Single(leaf),
                Err(leaves) => HloSharding::Tuple(leaves),
            };
            self.module.ops[op].attrs.set(SHARDING, Attr::Str(sharding.to_string().into()));
        }
        out.push(op);
    }

    /// Whether these are all axes there are.
    fn all_manual(&self, manual: &[AxisRef]) -> bool {
        let mut meshes = self.module.mesh_names.values().map(|&id| &self.module.meshes[id]);
        !manual.is_empty() && meshes.all(|mesh| mesh.is_maximal() || mesh.axes.len() == manual.len())
    }

    fn leaf(&self, value: ValueId, manual: &[AxisRef]) -> Leaf {
        let kind = match self.module.shardings.sharding_of(value) {
            Some(sharding) => match to_hlo(&self.module.meshes[sharding.mesh], sharding, manual) {
                HloSharding::Single(leaf) => leaf.kind,
                HloSharding::Tuple(_) => LeafKind::Unknown,
            },
            None if self.all_manual(manual) => LeafKind::Manual,
            None if self.module.stored(value).is_some() => LeafKind::Unknown,
            None => LeafKind::Replicated,
        };
        Leaf { kind, group: None }
    }

    #[allow(clippy::too_many_arguments, reason = "what a call is made of")]
    fn call(
        &mut self,
        target: &str,
        operand: ValueId,
        ty: TypeId,
        sharding: Attr,
        open: &[usize],
        at: OpId,
        out: &mut Vec<OpId>,
    ) -> ValueId {
        let op = self.module.add_op(call_kind(target, open), &[operand], &[ty], &[]);
        let (span, loc) = (self.module.ops[at].span, self.module.ops[at].loc);
        let data = &mut self.module.ops[op];
        (data.span, data.loc) = (span, loc);
        data.attrs.set(SHARDING, sharding);
        out.push(op);
        data.results[0]
    }

    fn spec(&self, op: OpId) -> (Vec<ShardingId>, Vec<ShardingId>, AxisList) {
        match &self.module.ops[op].kind {
            OpKind::ManualComputation(spec) => {
                (spec.in_shardings.clone(), spec.out_shardings.clone(), spec.manual_axes.clone())
            }
            _ => Default::default(),
        }
    }

    /// The operands of a manual computation as its body sees them.
    fn enter(&mut self, op: OpId, context: &[AxisRef], inside: &[AxisRef], out: &mut Vec<OpId>) {
        let (shardings, _, manual) = self.spec(op);
        let operands = self.module.ops[op].operands.clone();
        let Some(&region) = self.module.ops[op].regions.first() else { return };
        let args = self.module.regions[region].args.clone();
        for ((operand, arg), id) in operands.into_iter().zip(args).zip(shardings) {
            if self.module.stored(operand).is_none() {
                self.replaced.insert(arg, operand);
                continue;
            }
            let sharding = self.module.shardings.get(id).clone();
            let open = open_dims(&sharding);
            let ty = self.module.values[operand].ty;
            let text = self.text(id, context);
            let whole = self.call("Sharding", operand, ty, text, &open, op, out);
            let local = self.module.shardings.intern(without(&sharding, &manual));
            let (ty, text) = (self.module.values[arg].ty, self.text(local, inside));
            let new = self.call("SPMDFullToShardShape", whole, ty, text, &open, op, out);
            self.replaced.insert(arg, new);
        }
    }

    /// The results of a manual computation as the program around it sees them.
    fn leave(&mut self, op: OpId, context: &[AxisRef], out: &mut Vec<OpId>) {
        let (_, shardings, manual) = self.spec(op);
        let inside: AxisList = context.iter().chain(&manual).copied().collect();
        let results = self.module.ops[op].results.clone();
        let body = self.module.ops[op].regions.first().copied();
        let terminator = body.and_then(|body| self.module.terminator(body));
        let returned = terminator.map(|op| self.module.ops[op].operands.clone()).unwrap_or_default();
        for ((result, value), id) in results.into_iter().zip(returned).zip(shardings) {
            if self.module.stored(result).is_none() {
                self.replaced.insert(result, value);
                continue;
            }
            let sharding = self.module.shardings.get(id).clone();
            let open = open_dims(&sharding);
            let local = self.module.shardings.intern(without(&sharding, &manual));
            let (ty, text) = (self.module.values[value].ty, self.text(local, &inside));
            let held = self.call("Sharding", value, ty, text, &open, op, out);
            let (ty, text) = (self.module.values[result].ty, self.text(id, context));
            let new = self.call("SPMDShardToFullShape", held, ty, text, &open, op, out);
            self.replaced.insert(result, new);
        }
    }

    fn resolve_uses(&mut self) {
        let bodies: Vec<RegionId> = self.module.bodies().collect();
        for op in bodies.into_iter().flat_map(|body| self.module.walk(body)).collect::<Vec<_>>() {
            let resolve = |mut value: ValueId| {
                while self.replaced.get(value) != value {
                    value = self.replaced.get(value);
                }
                value
            };
            let operands = self.module.ops[op].operands.iter().map(|&v| resolve(v)).collect();
            self.module.ops[op].operands = operands;
        }
    }
}

/// Whether a loop has the same values for XLA. What it reads from outside XLA carries along, and what it carries
/// along unchanged XLA reads from outside; the shardings of its tuple are then too many or too few.
fn keeps_its_values(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let Some(&body) = data.regions.get(1) else { return true };
    let returned = module.terminator(body).map(|end| module.ops[end].operands.as_slice()).unwrap_or_default();
    let unchanged = module.regions[body].args.iter().zip(returned).any(|(arg, value)| arg == value);
    !unchanged && inputs(module, op).len() == data.operands.len()
}

enum Step {
    /// An operation.
    Op(OpId),
    /// The end of a manual computation.
    Leave(OpId),
}

fn call_kind(target: &str, open: &[usize]) -> OpKind {
    let dims: Vec<String> = open.iter().map(usize::to_string).collect();
    let config = match dims.as_slice() {
        [] => String::new(),
        dims => format!("unspecified_dims=[{}]", dims.join(",")),
    };
    let props: AttrDict = [("backend_config".into(), Attr::Str(config.into()))].into_iter().collect();
    OpKind::CustomCall(Box::new(CustomCallSpec { target: target.into(), props }))
}

fn open_dims(sharding: &TensorSharding) -> Vec<usize> {
    sharding.dims.iter().enumerate().filter(|(_, d)| d.open).map(|(i, _)| i).collect()
}

/// A sharding without these axes, as the inside of a manual computation sees it.
pub(super) fn without(sharding: &TensorSharding, axes: &[AxisRef]) -> TensorSharding {
    let keep = |list: &AxisList| -> AxisList {
        list.iter().copied().filter(|a| !axes.iter().any(|other| other.axis == a.axis)).collect()
    };
    let mut out = sharding.clone();
    for dim in &mut out.dims {
        dim.axes = keep(&dim.axes);
    }
    out.unreduced = keep(&out.unreduced);
    out.replicated = keep(&out.replicated);
    out
}
