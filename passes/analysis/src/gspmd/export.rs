//! Exports axis-based shardings as GSPMD annotations.

use rustc_hash::FxHashMap;
use shardc_ir::{
    Attr, AttrDict, AxisList, AxisRef, Build, CustomCallSpec, Diagnostic, Mesh, Module, OpId, OpKind,
    RegionId, Rewriter, ShardingId, TensorSharding, TypeId, ValueId,
};
use smallvec::SmallVec;

use super::collect::SHARDING;
use super::digits::{Digit, list_digits, positions, row_major};
use super::hlo::{Devices, HloSharding, Leaf, LeafKind, ShardGroup, Subgroup, Tiling, to_devices};
use super::manual::{callers_first, inputs};
use super::to_axes::without;
use crate::analysis::regions::has_program_regions;
use crate::sharding::axes::{Part, Parts, parts};

/// Converts `sharding` to the equivalent XLA sharding. `manual` are the axes along which the value is local to the
/// device.
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
    // A scalar is excluded: it has no dimensions, so the condition "all dimensions are open" would be true.
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
            // If digits describe the device order, the order is written as an iota instead of a list of, for example, 4096 devices.
            match list_digits(&[list.len() as i64], list.clone(), 0).as_deref() {
                Some([digits]) => to_devices(digits),
                _ => Devices::List(list),
            }
        }
    };
    Tiling { dims, devices, subgroups }.canonical().into()
}

/// Returns the axes of a mesh, and parts of axes, that are not in `used`, from major to minor.
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

/// Writes every sharding of a program as GSPMD annotations, and removes the meshes:
///
/// | shardc | GSPMD |
/// |---|---|
/// | shardings of values | `mhlo.sharding` |
/// | constraints and reshards | `@Sharding` |
/// | manual computations | `@SPMDFullToShardShape`, `@SPMDShardToFullShape` |
///
/// A program that has no mesh but a device count (a partitioned program) is unchanged.
///
/// The export drops properties that GSPMD cannot represent: priorities, explicitly replicated axes, propagation barriers, and open
/// dimensions except those of constraints.
///
/// # Errors
/// Returns an error if meshes have different numbers of devices (`SH0348`), or if calls of the same function have different manual axes
/// (`SH0345`).
pub fn export_gspmd(module: &mut Module) -> Result<(), Vec<Diagnostic>> {
    let says_how_many = module.num_partitions().or(module.num_replicas()).is_some();
    if module.mesh_names.is_empty() && says_how_many {
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
    let mut export = Export { rw: Rewriter::new(module), errors: Vec::new() };
    export.funcs();
    let errors = std::mem::take(&mut export.errors);
    drop(export);
    if !errors.is_empty() {
        return Err(errors);
    }
    module.shardings.clear_values();
    module.mesh_names.clear();
    module.set_process_counts(1, devices as i64);
    Ok(())
}

struct Export<'m> {
    rw: Rewriter<'m>,
    /// One error for each call whose enclosing manual axes differ from those of the first call of the same function.
    errors: Vec<Diagnostic>,
}

impl Export<'_> {
    fn funcs(&mut self) {
        let mut contexts: FxHashMap<Box<str>, AxisList> = FxHashMap::default();
        for id in callers_first(self.rw.module) {
            let context = contexts.get(&self.rw.module.funcs[id].name).cloned().unwrap_or_default();
            if let Some(body) = self.rw.module.funcs[id].body {
                for (i, arg) in self.rw.module.regions[body].args.clone().into_iter().enumerate() {
                    let text = self.rw.module.shardings.of(arg).map(|s| self.text(s, &context));
                    let attrs = self.rw.module.funcs[id].arg_attrs.get_mut(i);
                    if let (Some(text), Some(attrs)) = (text, attrs) {
                        attrs.set(SHARDING, text);
                    }
                }
                self.regions(body, context.clone(), &mut contexts);
            }
            let results = std::mem::take(&mut self.rw.module.funcs[id].res_shardings);
            for (i, sharding) in results.iter().enumerate() {
                let text = sharding.expand().map(|s| self.text(s, &context));
                let attrs = self.rw.module.funcs[id].res_attrs.get_mut(i);
                if let (Some(text), Some(attrs)) = (text, attrs) {
                    attrs.set(SHARDING, text);
                }
            }
        }
    }

    fn text(&self, sharding: ShardingId, manual: &[AxisRef]) -> Attr {
        let sharding = self.rw.module.shardings.get(sharding);
        Attr::Str(to_hlo(&self.rw.module.meshes[sharding.mesh], sharding, manual).to_string().into())
    }

    fn regions(&mut self, body: RegionId, context: AxisList, contexts: &mut FxHashMap<Box<str>, AxisList>) {
        let mut regions = vec![(body, context)];
        while let Some((region, context)) = regions.pop() {
            self.region(region, &context, &mut regions, contexts);
        }
        // The walk above does not enter reducer regions, so replaced operands in these are updated here.
        self.rw.rewrite_under(body);
    }

    /// Exports a region. Appends its nested program regions to `regions`, with their enclosing manual axes.
    fn region(
        &mut self,
        region: RegionId,
        context: &AxisList,
        regions: &mut Vec<(RegionId, AxisList)>,
        contexts: &mut FxHashMap<Box<str>, AxisList>,
    ) {
        self.rw.enter(region);
        while let Some(op) = self.rw.next_op() {
            let data = &self.rw.module.ops[op];
            if let OpKind::Call { callee } = &data.kind {
                let known = contexts.entry(callee.clone()).or_insert_with(|| context.clone());
                // The manual axes that enclose the first call of a function apply to the exported function.
                if known != context {
                    let message = format!("calls of @{callee} have different manual axes");
                    let hint = "inline the calls first (`--passes inline,export-gspmd`), or call a copy of the function";
                    let mut error = Diagnostic::unsupported("SH0345", message).at(data.span).hint(hint);
                    error.user_loc = self.rw.module.user_loc(op);
                    self.errors.push(error);
                }
            }
            if let OpKind::ManualComputation(spec) = &data.kind {
                let mut inside = context.clone();
                inside.extend(spec.manual_axes.iter().copied());
                let body = data.regions.first().copied();
                // The body is exported in place, and its operations are moved to the enclosing region afterwards: the uses of the body's
                // arguments must be replaced before the operations move.
                self.enter(op, context, &inside);
                let mut returned = SmallVec::new();
                if let Some(body) = body {
                    self.region(body, &inside, regions, contexts);
                    returned = self.rw.splice(body);
                }
                self.leave(op, context, &inside, &returned);
                self.rw.erase();
                continue;
            }
            // Regions that combine scalars (reducers) have no shardings.
            if has_program_regions(&data.kind) {
                regions.extend(data.regions.iter().map(|&r| (r, context.clone())));
            }
            self.op(op, context);
        }
    }

    fn op(&mut self, op: OpId, manual: &[AxisRef]) {
        let data = &self.rw.module.ops[op];
        let constraint = match &data.kind {
            OpKind::ShardingConstraint(id) | OpKind::Reshard(id) => Some(*id),
            OpKind::MeshCollective(collective) => Some(collective.out),
            OpKind::PropagationBarrier { .. } => {
                let operands = data.operands.clone();
                return self.rw.replace(&operands);
            }
            OpKind::ShardingGroup { id } => {
                let leaf = Leaf { kind: LeafKind::Unknown, group: Some(ShardGroup::As(*id)) };
                if let Some(&operand) = data.operands.first() {
                    let ty = self.rw.module.values[operand].ty;
                    let text = Attr::Str(leaf.to_string().into());
                    let new = self.call("Sharding", operand, ty, text, &[]);
                    if let Some(def) = self.rw.module.def_op(new)
                        && let OpKind::CustomCall(call) = &mut self.rw.module.ops[def].kind
                    {
                        // Without users, a call that has no side effect would be removed.
                        call.props.set("has_side_effect", Attr::Bool(true));
                    }
                }
                return self.rw.erase();
            }
            _ => None,
        };
        if let Some(id) = constraint {
            let text = self.text(id, manual);
            let kind = call_kind("Sharding", &open_dims(self.rw.module.shardings.get(id)));
            let data = &mut self.rw.module.ops[op];
            data.kind = kind;
            data.attrs.set(SHARDING, text);
            return;
        }
        let results = data.results.clone();
        let fixed = !matches!(data.kind, OpKind::While) || keeps_its_values(self.rw.module, op);
        let has_sharding = |&r: &ValueId| self.rw.module.shardings.of(r).is_some();
        // A constant needs no `{manual}` annotation, since it has the same value on all devices.
        let local =
            self.all_manual(manual) && !results.is_empty() && !matches!(data.kind, OpKind::Constant(_));
        if fixed && (results.iter().any(has_sharding) || local) {
            let leaves: Vec<Leaf> = results.iter().map(|&r| self.leaf(r, manual)).collect();
            let sharding = match <[Leaf; 1]>::try_from(leaves) {
                Ok([leaf]) => HloSharding::Single(leaf),
                Err(leaves) => HloSharding::Tuple(leaves),
            };
            self.rw.module.ops[op].attrs.set(SHARDING, Attr::Str(sharding.to_string().into()));
        }
    }

    /// Whether `manual` contains all axes of the mesh.
    fn all_manual(&self, manual: &[AxisRef]) -> bool {
        let mut meshes = self.rw.module.mesh_names.values().map(|&id| &self.rw.module.meshes[id]);
        !manual.is_empty() && meshes.all(|mesh| mesh.is_maximal() || mesh.axes.len() == manual.len())
    }

    fn leaf(&self, value: ValueId, manual: &[AxisRef]) -> Leaf {
        let kind = match self.rw.module.shardings.sharding_of(value) {
            Some(sharding) => match to_hlo(&self.rw.module.meshes[sharding.mesh], sharding, manual) {
                HloSharding::Single(leaf) => leaf.kind,
                HloSharding::Tuple(_) => LeafKind::Unknown,
            },
            None if self.all_manual(manual) => LeafKind::Manual,
            None if self.rw.module.stored(value).is_some() => LeafKind::Unknown,
            None => LeafKind::Replicated,
        };
        Leaf { kind, group: None }
    }

    fn call(
        &mut self,
        target: &str,
        operand: ValueId,
        ty: TypeId,
        sharding: Attr,
        open: &[usize],
    ) -> ValueId {
        let op = self.rw.op(call_kind(target, open), &[operand], &[ty], &[]);
        let data = &mut self.rw.module.ops[op];
        data.attrs.set(SHARDING, sharding);
        data.results[0]
    }

    fn spec(&self, op: OpId) -> (Vec<ShardingId>, Vec<ShardingId>, AxisList) {
        match &self.rw.module.ops[op].kind {
            OpKind::ManualComputation(spec) => {
                (spec.in_shardings.clone(), spec.out_shardings.clone(), spec.manual_axes.clone())
            }
            _ => Default::default(),
        }
    }

    /// Converts the operands of a manual computation to the values that its body reads.
    fn enter(&mut self, op: OpId, context: &[AxisRef], inside: &[AxisRef]) {
        let (shardings, _, manual) = self.spec(op);
        let operands = self.rw.module.ops[op].operands.clone();
        let Some(&region) = self.rw.module.ops[op].regions.first() else { return };
        let args = self.rw.module.regions[region].args.clone();
        for ((operand, arg), id) in operands.into_iter().zip(args).zip(shardings) {
            if self.rw.module.stored(operand).is_none() {
                self.rw.stand_for(arg, operand);
                continue;
            }
            let sharding = self.rw.module.shardings.get(id).clone();
            let open = open_dims(&sharding);
            let ty = self.rw.module.values[operand].ty;
            let text = self.text(id, context);
            let whole = self.call("Sharding", operand, ty, text, &open);
            let local = self.rw.module.shardings.intern(without(&sharding, &manual));
            let (ty, text) = (self.rw.module.values[arg].ty, self.text(local, inside));
            let new = self.call("SPMDFullToShardShape", whole, ty, text, &open);
            self.rw.stand_for(arg, new);
        }
    }

    /// Converts the results of a manual computation to the values that the enclosing program reads.
    fn leave(&mut self, op: OpId, context: &[AxisRef], inside: &[AxisRef], returned: &[ValueId]) {
        let (_, shardings, manual) = self.spec(op);
        let results = self.rw.module.ops[op].results.clone();
        for ((result, &value), id) in results.into_iter().zip(returned).zip(shardings) {
            if self.rw.module.stored(result).is_none() {
                self.rw.stand_for(result, value);
                continue;
            }
            let sharding = self.rw.module.shardings.get(id).clone();
            let open = open_dims(&sharding);
            let local = self.rw.module.shardings.intern(without(&sharding, &manual));
            let (ty, text) = (self.rw.module.values[value].ty, self.text(local, inside));
            let held = self.call("Sharding", value, ty, text, &open);
            let (ty, text) = (self.rw.module.values[result].ty, self.text(id, context));
            let new = self.call("SPMDShardToFullShape", held, ty, text, &open);
            self.rw.stand_for(result, new);
        }
    }
}

/// Whether the loop in HLO carries the same values as the `while` operation `op`. The conversion to HLO also carries captured values, and
/// turns invariant carried values into captured ones. The sharding of the loop's tuple would then have the wrong number of elements.
fn keeps_its_values(module: &Module, op: OpId) -> bool {
    let data = &module.ops[op];
    let Some(&body) = data.regions.get(1) else { return true };
    let returned = module.terminator(body).map(|end| module.ops[end].operands.as_slice()).unwrap_or_default();
    let unchanged = module.regions[body].args.iter().zip(returned).any(|(arg, value)| arg == value);
    !unchanged && inputs(module, op).len() == data.operands.len()
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
