//! Verifies C4: the devices of a group execute a collective the same number of times.
//!
//! All devices run the same program, so they diverge only at a `case`, `if` or `while` whose predicate differs
//! between them. A data-flow analysis determines which devices agree on each value:
//!
//! * devices with the same block of a parameter agree on it;
//! * devices that receive the same data from a collective agree on its result;
//! * device IDs differ between all devices;
//! * padding is ignored.
//!
//! Only devices that agree on a predicate take the same path.
//!
//! This is divergence analysis as in GPU compilers, for devices instead of threads. Instead of "uniform" or "divergent", a
//! value has an equivalence relation over devices. Relations only get finer, each at most as often as there are
//! devices, so the analysis of a loop reaches a fixed point. An inner loop resumes from its previous state when the
//! outer one is analyzed again.
//!
//! The analysis first represents relations by device coordinates ([`super::coordinates`]), of which there are few regardless of the number
//! of devices. It inspects every device ([`super::enumerated`]) only if the coordinates do not prove convergence.

mod results;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    AxisList, AxisRef, CollectiveSpec, CustomCallSpec, Diagnostic, FuncId, ManualSpec, Mesh, Module, OpId,
    OpKind, RegionId, ReplicaGroups, SecondaryMap, SliceSpec, ValueId,
};

use super::agreement::Agreement;
use super::broken;
use super::coordinates::{Coordinates, Cuts};
use super::enumerated::Enumerated;
use super::relations::Relations;
pub use results::axes_results_vary_along;

use crate::analysis::call_graph::{callee_of, callees_first};
use crate::manual::{Scope, device_groups};
use crate::sharding::interface::{Interface, InterfaceTensor};
use crate::sharding::signature::Signatures;

pub(super) fn check(
    module: &Module,
    func: FuncId,
    interface: Option<&Interface>,
    signatures: &Signatures,
    devices: usize,
    errors: &mut Vec<Diagnostic>,
) {
    let Some(body) = module.funcs[func].body else { return };
    if !meets_under_control(module, body) {
        return;
    }
    let mut cuts = Cuts::default();
    if let Some(interface) = interface {
        for mesh in interface.meshes.iter().map(|(_, mesh)| mesh).chain([&interface.mesh]) {
            cuts.axes(mesh, mesh.all_axes());
        }
        for tensor in &interface.inputs {
            cuts.axes(interface.mesh_of(tensor), varies_along(tensor));
        }
    }
    for op in module.walk(body) {
        if let Some(spec) = module.ops[op].collective_spec() {
            cuts.groups(&spec.groups);
        }
    }
    if let Some(coordinates) = Coordinates::new(devices, cuts)
        && of_program(Flow::new(module, devices, coordinates), body, interface, signatures).is_empty()
    {
        return;
    }
    let divergences = match enumerated(module, body, devices) {
        Ok(relations) => of_program(Flow::new(module, devices, relations), body, interface, signatures),
        Err(error) => return errors.push(error),
    };
    for (op, a, b) in divergences {
        let message = format!(
            "devices {a} and {b} must both execute this {}, but the condition on which they execute it may differ between them",
            module.ops[op].kind.name()
        );
        errors.push(broken(module, op, "SH0462", message));
    }
}

/// Returns the axes along which devices hold different data: different shards, or different partial sums.
fn varies_along(tensor: &InterfaceTensor) -> impl Iterator<Item = AxisRef> {
    tensor.sharding.split_axes().chain(tensor.sharding.unreduced.iter().copied())
}

/// Returns the divergences of a localized program: collectives that devices may execute a different number of times.
fn of_program<'m, R: Relations>(
    mut flow: Flow<'m, R>,
    body: RegionId,
    interface: Option<&'m Interface>,
    signatures: &'m Signatures,
) -> Vec<(OpId, i64, i64)> {
    flow.calls = interface.map(|interface| (&interface.mesh, signatures));
    flow.talking = talking(flow.module);
    if let Some(interface) = interface {
        for (&arg, tensor) in flow.module.regions[body].args.iter().zip(&interface.inputs) {
            let axes: AxisList = varies_along(tensor).collect();
            flow.of[arg] = flow.relations.blocks(interface.mesh_of(tensor), &axes);
        }
    }
    flow.region(body, Agreement::ALIKE);
    flow.first_divergences()
}

/// Returns the collectives in the manual computation `op` that two devices may execute a different number of times, each with the IDs of
/// two such devices. The program is not yet partitioned. Values from outside the computation are assumed equal on all devices.
///
/// # Errors
/// Returns `SH0327` if coordinates do not prove convergence and there are too many devices to inspect each.
pub(super) fn divergences(
    module: &Module,
    op: OpId,
    mesh: &Mesh,
) -> Result<Vec<(OpId, i64, i64)>, Diagnostic> {
    let devices = mesh.num_devices();
    if let Some(coordinates) = Coordinates::new(devices, cuts_of(module, op, mesh))
        && of_computation(Flow::new(module, devices, coordinates), op, mesh).is_empty()
    {
        return Ok(Vec::new());
    }
    for &region in &module.ops[op].regions {
        enumerated(module, region, devices)?;
    }
    Ok(of_computation(Flow::new(module, devices, Enumerated::new(devices)), op, mesh))
}

/// Returns the strides and sizes that separate the digits of the device ID (see [`Cuts`]) in the manual computation `op`.
fn cuts_of(module: &Module, op: OpId, mesh: &Mesh) -> Cuts {
    let mut cuts = Cuts::default();
    cuts.axes(mesh, mesh.all_axes());
    let inner = module.ops[op].regions.iter().flat_map(|&region| module.walk(region));
    for inner in inner.chain([op]) {
        match &module.ops[inner].kind {
            OpKind::ManualComputation(spec) => {
                for &sharding in &spec.in_shardings {
                    cuts.axes(mesh, module.shardings.get(sharding).split_axes());
                }
            }
            _ => {
                if let Some(spec) = module.ops[inner].collective_spec() {
                    cuts.groups(&spec.groups);
                }
            }
        }
    }
    cuts
}

fn of_computation<'m, R: Relations>(
    mut flow: Flow<'m, R>,
    op: OpId,
    mesh: &'m Mesh,
) -> Vec<(OpId, i64, i64)> {
    flow.written = Some(ManualContext { mesh, scope: Scope::default() });
    flow.op(op, Agreement::ALIKE);
    flow.first_divergences()
}

/// The limit of the per-device analysis: the number of collectives times the number of devices. At the limit, the analysis takes minutes.
const MAX_ENUMERATED: usize = 1 << 33;

/// Returns relations between the executions of the devices that are tracked for each device separately.
///
/// # Errors
/// Returns `SH0327` if there are too many devices. The program is rejected, since it might hang.
fn enumerated(module: &Module, body: RegionId, devices: usize) -> Result<Enumerated, Diagnostic> {
    let collectives = module.walk(body).into_iter().filter(|&op| module.ops[op].collective_spec().is_some());
    let (count, last) = collectives.fold((0_usize, None), |(count, _), op| (count + 1, Some(op)));
    match last.filter(|_| count.saturating_mul(devices) > MAX_ENUMERATED) {
        None => Ok(Enumerated::new(devices)),
        Some(op) => {
            let message = format!(
                "cannot prove that all devices execute these {count} collectives the same number of times: {devices} devices are too many to check \
                 individually"
            );
            let mut error = Diagnostic::unsupported("SH0327", message).at(module.ops[op].span).hint(
                "make the condition depend on coordinates along mesh axes, or on a value that is equal on all devices (the result of an all_reduce, for example)",
            );
            error.user_loc = module.user_loc(op);
            Err(error)
        }
    }
}

/// Whether a nested region contains a collective. If not, all devices execute every collective equally often.
fn meets_under_control(module: &Module, body: RegionId) -> bool {
    let regions = module.regions[body].ops.iter().flat_map(|&op| &module.ops[op].regions);
    let mut inner = regions.flat_map(|&region| module.walk(region));
    inner.any(|op| meets(module, op))
}

/// Returns the functions that contain collectives, device IDs or external inputs, directly or through their callees.
fn talking(module: &Module) -> FxHashSet<FuncId> {
    let mut out = FxHashSet::default();
    if module.funcs.len() == 1 {
        return out;
    }
    for func in callees_first(module) {
        let talks = |op: OpId| match &module.ops[op].kind {
            OpKind::Call { .. } => callee_of(module, op).is_none_or(|callee| out.contains(&callee)),
            OpKind::PartitionId
            | OpKind::ReplicaId
            | OpKind::Infeed(_)
            | OpKind::Recv(_)
            | OpKind::Rng(_) => true,
            _ => meets(module, op),
        };
        if module.funcs[func].body.is_some_and(|body| module.walk(body).into_iter().any(talks)) {
            out.insert(func);
        }
    }
    out
}

/// Whether an operation is a collective, or a call of a function that may contain one.
fn meets(module: &Module, op: OpId) -> bool {
    match &module.ops[op].kind {
        OpKind::Call { .. } => true,
        OpKind::CustomCall(spec) if spec.kept_callee().is_some() => true,
        _ => module.ops[op].collective_spec().is_some(),
    }
}

/// The mesh and manual axes that collectives in the analyzed manual computation refer to.
struct ManualContext<'m> {
    mesh: &'m Mesh,
    /// The manual axes at the current operation.
    scope: Scope,
}

/// The state of the analysis of one program.
struct Flow<'m, R: Relations> {
    module: &'m Module,
    devices: usize,
    relations: R,
    /// For each value, which devices hold equal copies of it.
    of: SecondaryMap<ValueId, Agreement>,
    /// For each value that is a concatenation, or the result of a collective on a concatenation: the concatenated operands.
    parts: FxHashMap<ValueId, Concatenated>,
    /// The values of scalar integers that are functions of the device ID.
    known: FxHashMap<ValueId, R::Number>,
    /// Loops that were analyzed at least once, so that their carried values have a relation.
    begun: FxHashSet<OpId>,
    /// Collectives that devices may execute a different number of times, each with the IDs of two such devices.
    divergent: Vec<(OpId, i64, i64)>,
    /// The context of the manual computation, in a program that is not partitioned yet.
    written: Option<ManualContext<'m>>,
    /// In a partitioned program, the mesh, and the signatures of functions that are partitioned separately.
    calls: Option<(&'m Mesh, &'m Signatures)>,
    /// Functions whose results depend on more than their arguments, or that contain collectives.
    talking: FxHashSet<FuncId>,
    /// Whether callees and composite decompositions are analyzed at each call, as if they were inlined.
    follows_calls: bool,
}

/// A concatenation along a dimension, as a list of its operands. Small collectives are combined by concatenating their operands, and the
/// result is sliced. Without this record, a predicate that was reduced together with a divergent value would count as divergent.
struct Concatenated {
    dim: usize,
    /// For each operand, its end offset in the concatenation, and which devices agree on it.
    of: Vec<(i64, Agreement)>,
}

/// Whether a collective leaves dimension `dim` of its operand unchanged.
fn keeps(kind: &OpKind, dim: usize) -> bool {
    match kind {
        OpKind::AllReduce(_) | OpKind::CollectivePermute(_) => true,
        OpKind::AllGather { dim: changed, .. } | OpKind::ReduceScatter { dim: changed, .. } => {
            *changed as usize != dim
        }
        _ => false,
    }
}

impl<'m, R: Relations> Flow<'m, R> {
    fn new(module: &'m Module, devices: usize, relations: R) -> Flow<'m, R> {
        Flow {
            module,
            devices,
            relations,
            of: SecondaryMap::new(),
            parts: FxHashMap::default(),
            known: FxHashMap::default(),
            begun: FxHashSet::default(),
            divergent: Vec::new(),
            written: None,
            calls: None,
            talking: FxHashSet::default(),
            follows_calls: false,
        }
    }

    /// Returns one divergence for each collective: a collective and the IDs of two devices that may execute it a different number of times.
    /// A collective in a loop is analyzed several times, and may be recorded each time.
    fn first_divergences(self) -> Vec<(OpId, i64, i64)> {
        let mut seen = FxHashSet::default();
        self.divergent.into_iter().filter(|&(op, ..)| seen.insert(op)).collect()
    }

    /// Returns the replica groups of a collective, or the source-target pairs of a permute.
    fn groups(&self, op: OpId, spec: &CollectiveSpec) -> ReplicaGroups {
        if let Some(ManualContext { mesh, scope }) = &self.written {
            // Invalid groups count as no groups here: planning reports them as errors.
            return device_groups(self.module, op, mesh, scope).unwrap_or_default();
        }
        let is_permute = matches!(self.module.ops[op].kind, OpKind::CollectivePermute(_));
        if spec.groups.is_empty() && !is_permute {
            return ReplicaGroups::all(self.devices);
        }
        spec.groups.clone()
    }

    /// Analyzes the body of a manual computation: its arguments are the shards of the operands.
    fn manual(&mut self, op: OpId, spec: &ManualSpec, control: Agreement) {
        let module = self.module;
        let data = &module.ops[op];
        let Some(ManualContext { mesh, scope }) = &self.written else { return self.compute(op, control) };
        let (mesh, outer) = (*mesh, scope.clone());
        let inner = outer.enter(mesh, spec);
        let Some(&body) = data.regions.first() else { return };
        for ((&arg, &operand), &sharding) in
            module.regions[body].args.iter().zip(&data.operands).zip(&spec.in_shardings)
        {
            let is_manual = |axis: &AxisRef| inner.axes.iter().any(|manual| manual.axis == axis.axis);
            let dims = module.shardings.get(sharding).dims.iter();
            let axes: AxisList = dims.flat_map(|dim| dim.axes.iter().copied().filter(is_manual)).collect();
            let held = self.relations.blocks(mesh, &axes);
            self.of[arg] = self.relations.refine(self.of[operand], held);
        }
        self.written = Some(ManualContext { mesh, scope: inner });
        self.region(body, control);
        self.written = Some(ManualContext { mesh, scope: outer });
        let returned = self.returned(body).to_vec();
        for (&result, &value) in data.results.iter().zip(&returned) {
            self.of[result] = self.of[value];
        }
    }

    /// Analyzes the call of a function that is partitioned separately. All devices execute it together, and devices
    /// with the same block of a result agree on it.
    fn kept_call(&mut self, op: OpId, spec: &CustomCallSpec, control: Agreement) {
        self.check_all_converged(op, control);
        let results = &self.module.ops[op].results;
        let known = self.calls.and_then(|(mesh, signatures)| Some((mesh, signatures.of(spec)?)));
        for (i, &result) in results.iter().enumerate() {
            let sharding = known.and_then(|(mesh, signature)| Some((mesh, signature.results.get(i)?)));
            self.of[result] = match sharding {
                Some((mesh, sharding)) => {
                    let axes: AxisList = sharding.split_axes().collect();
                    self.relations.blocks(mesh, &axes)
                }
                None => self.relations.apart(),
            };
        }
    }

    /// Analyzes a region. Devices that agree in `control` execute it the same number of times.
    fn region(&mut self, region: RegionId, control: Agreement) {
        let module = self.module;
        for &op in &module.regions[region].ops {
            self.op(op, control);
        }
    }

    fn op(&mut self, op: OpId, control: Agreement) {
        let module = self.module;
        let data = &module.ops[op];
        match &data.kind {
            OpKind::While => self.while_loop(op, control),
            OpKind::Case | OpKind::If => self.branch(op, control),
            OpKind::AllReduce(spec) | OpKind::AllGather { spec, .. } => {
                self.check_converged(op, spec, control);
                self.exchange(op, spec, false);
            }
            OpKind::ReduceScatter { spec, .. } | OpKind::AllToAll { spec, .. } => {
                self.check_converged(op, spec, control);
                self.exchange(op, spec, true);
            }
            OpKind::CollectivePermute(spec) => {
                self.check_converged(op, spec, control);
                self.permute(op, spec);
            }
            OpKind::CollectiveBroadcast(spec)
            | OpKind::CollectiveReduce(spec)
            | OpKind::CrossReplicaSum(spec) => {
                self.check_converged(op, spec, control);
                self.exchange(op, spec, true);
            }
            OpKind::ManualComputation(spec) => self.manual(op, spec, control),
            OpKind::NamedComputation(_) => match data.regions.as_slice() {
                &[body] => self.once(op, body, control),
                _ => self.compute(op, control),
            },
            OpKind::Call { .. } | OpKind::Composite(_) if self.follows_calls => self.call(op, control),
            OpKind::Call { .. } if callee_of(module, op).is_some_and(|func| self.talking.contains(&func)) => {
                self.check_all_converged(op, control);
                let apart = self.relations.apart();
                self.set_all(&data.results, apart);
            }
            OpKind::CustomCall(spec) if spec.kept_callee().is_some() => self.kept_call(op, spec, control),
            OpKind::CustomCall(_) if data.kind.is_ragged_all_to_all() => match data.ragged_all_to_all() {
                Some(spec) => {
                    self.check_converged(op, &spec, control);
                    self.exchange(op, &spec, true);
                }
                None => self.compute(op, control),
            },
            OpKind::PartitionId | OpKind::ReplicaId => {
                let along =
                    self.written.as_ref().map(|written| (written.mesh, written.scope.axes.as_slice()));
                let (agreement, number) = self.relations.own_number(along);
                for &result in &data.results {
                    self.of[result] = agreement;
                    self.known.extend(number.clone().map(|number| (result, number)));
                }
            }
            // External inputs and device-local random numbers may differ on every device.
            OpKind::Infeed(_) | OpKind::Recv(_) | OpKind::Rng(_) => {
                for &result in &data.results {
                    self.of[result] = self.relations.apart();
                }
            }
            // Each operand is passed through independently.
            OpKind::OptimizationBarrier => {
                for (&value, &result) in data.operands.iter().zip(&data.results) {
                    self.same(value, result);
                }
            }
            OpKind::Concatenate { dim } => {
                self.compute(op, control);
                self.concatenate(op, *dim as usize);
            }
            OpKind::Slice(spec) => {
                self.compute(op, control);
                self.slice(op, spec);
            }
            _ => self.compute(op, control),
        }
    }

    /// Analyzes an operation without communication: equal operands produce equal results.
    fn compute(&mut self, op: OpId, control: Agreement) {
        let module = self.module;
        let data = &module.ops[op];
        let mut agreement = self.all(&data.operands);
        for &region in &data.regions {
            // The operation's results may also depend on values that its regions capture.
            self.region(region, control);
            for inner in module.walk(region) {
                let around = self.all(&module.ops[inner].operands);
                agreement = self.relations.refine(agreement, around);
            }
        }
        // Only divergent values are evaluated, which keeps `known` small.
        if agreement == Agreement::ALIKE {
            return self.set_all(&data.results, agreement);
        }
        let known = self.relations.evaluate(module, op, &|v| self.known.get(&v).cloned());
        if let (Some((agreement, known)), &[result]) = (known, data.results.as_slice()) {
            self.of[result] = agreement;
            self.known.insert(result, known);
            return;
        }
        if let &[result] = data.results.as_slice() {
            self.known.remove(&result);
        }
        self.set_all(&data.results, agreement);
    }

    /// Analyzes an operation that executes `body` once, with its operands as arguments.
    fn once(&mut self, op: OpId, body: RegionId, control: Agreement) {
        let module = self.module;
        let (data, args) = (&module.ops[op], &module.regions[body].args);
        if args.len() != data.operands.len() {
            return self.compute(op, control);
        }
        for (&operand, &arg) in data.operands.iter().zip(args) {
            self.same(operand, arg);
        }
        self.region(body, control);
        let returned = self.returned(body).to_vec();
        for (&value, &result) in returned.iter().zip(&data.results) {
            self.same(value, result);
        }
    }

    /// Analyzes the called function.
    fn call(&mut self, op: OpId, control: Agreement) {
        let module = self.module;
        let callee = match &module.ops[op].kind {
            OpKind::Composite(spec) => module.func_names.get(&spec.decomposition).copied(),
            _ => callee_of(module, op),
        };
        let Some(body) = callee.and_then(|func| module.funcs[func].body) else {
            // An unknown callee may use the device ID.
            let apart = self.relations.apart();
            return self.set_all(&module.ops[op].results, apart);
        };
        // Removes the results of an earlier analysis of the callee for another call: they do not apply to the current call.
        let (ops, regions) = module.walk_with_regions(body, |_| true);
        let results = ops.iter().flat_map(|&op| &module.ops[op].results);
        let args = regions.iter().flat_map(|&region| &module.regions[region].args);
        for value in results.chain(args) {
            self.of[*value] = Agreement::ALIKE;
            self.known.remove(value);
            self.parts.remove(value);
        }
        for op in &ops {
            self.begun.remove(op);
        }
        self.once(op, body, control);
    }

    /// Copies what is known about `value` to `other`, a value that is equal on each device.
    fn same(&mut self, value: ValueId, other: ValueId) {
        self.of[other] = self.of[value];
        match self.known.get(&value).cloned() {
            Some(known) => self.known.insert(other, known),
            None => self.known.remove(&other),
        };
    }

    fn all(&mut self, values: &[ValueId]) -> Agreement {
        values.iter().fold(Agreement::ALIKE, |a, &v| self.relations.refine(a, self.of[v]))
    }

    fn set_all(&mut self, values: &[ValueId], agreement: Agreement) {
        for &value in values {
            self.of[value] = agreement;
        }
    }

    /// Records a divergence if members of a group may execute the collective a different number of times.
    fn check_converged(&mut self, op: OpId, spec: &CollectiveSpec, control: Agreement) {
        if control == Agreement::ALIKE {
            return;
        }
        let groups = self.groups(op, spec);
        if let Some((a, b)) = self.relations.divergence(&groups, control) {
            self.divergent.push((op, a, b));
        }
    }

    /// Records a divergence if devices may execute an operation a different number of times.
    fn check_all_converged(&mut self, op: OpId, control: Agreement) {
        if control != Agreement::ALIKE
            && let Some((a, b)) = self.relations.divergence(&ReplicaGroups::all(self.devices), control)
        {
            self.divergent.push((op, a, b));
        }
    }

    /// Analyzes a collective whose result on a device depends on the operands of its group and, if `by_place`, on its
    /// rank in the group.
    fn exchange(&mut self, op: OpId, spec: &CollectiveSpec, by_place: bool) {
        let groups = self.groups(op, spec);
        self.send(op, |relations, before| relations.exchange(&groups, before, by_place));
    }

    /// Analyzes a permute: each device receives its source's value, or zeros.
    fn permute(&mut self, op: OpId, spec: &CollectiveSpec) {
        let pairs = self.groups(op, spec);
        self.send(op, |relations, before| relations.permute(&pairs, before));
    }

    /// Applies `after`, the effect of a collective on a relation, to the relations of its operands. Each operand of a combined collective
    /// is analyzed separately, and so is each operand of a concatenation that is sent.
    fn send(&mut self, op: OpId, after: impl Fn(&mut R, Agreement) -> Agreement) {
        let data = &self.module.ops[op];
        if data.operands.len() != data.results.len() {
            let operands = self.all(&data.operands);
            let agreement = after(&mut self.relations, operands);
            return self.set_all(&data.results, agreement);
        }
        for (&operand, &result) in data.operands.iter().zip(&data.results) {
            self.of[result] = after(&mut self.relations, self.of[operand]);
            let Some(parts) = self.parts.get(&operand).filter(|parts| keeps(&data.kind, parts.dim)) else {
                continue;
            };
            let of = parts.of.iter().map(|&(end, before)| (end, after(&mut self.relations, before)));
            let parts = Concatenated { dim: parts.dim, of: of.collect() };
            self.parts.insert(result, parts);
        }
    }

    /// Records the operands of a concatenation.
    fn concatenate(&mut self, op: OpId, dim: usize) {
        let data = &self.module.ops[op];
        let &[result] = data.results.as_slice() else { return };
        let mut end = 0_i64;
        let mut of = Vec::with_capacity(data.operands.len());
        for &v in &data.operands {
            // If the size of an operand is unknown, the offset of the next operand is unknown too.
            let size = self.module.shape(v).get(dim).copied().filter(|&size| size >= 0);
            let Some(next) = size.and_then(|size| end.checked_add(size)) else { return };
            end = next;
            of.push((end, self.of[v]));
        }
        self.parts.insert(result, Concatenated { dim, of });
    }

    /// Analyzes a slice of a concatenation: it depends only on the operands whose elements it selects.
    fn slice(&mut self, op: OpId, spec: &SliceSpec) {
        let data = &self.module.ops[op];
        let (&[operand], &[result]) = (data.operands.as_slice(), data.results.as_slice()) else { return };
        let Some(Concatenated { dim, of }) = self.parts.get(&operand) else { return };
        let (Some(&start), Some(&limit)) = (spec.start.get(*dim), spec.limit.get(*dim)) else { return };
        let mut begin = 0;
        let mut agreement = Agreement::ALIKE;
        for &(end, part) in of {
            if start < end && begin < limit {
                agreement = self.relations.refine(agreement, part);
            }
            begin = end;
        }
        self.of[result] = agreement;
    }

    /// Returns the operands of the region's terminator.
    fn returned(&self, region: RegionId) -> &[ValueId] {
        let end = self.module.terminator(region);
        end.map_or(&[], |end| self.module.ops[end].operands.as_slice())
    }

    fn branch(&mut self, op: OpId, control: Agreement) {
        let module = self.module;
        let data = &module.ops[op];
        let choice = self.all(&data.operands);
        let inner = self.relations.refine(control, choice);
        // Control dependence: devices on different branches get different results even if each branch alone is
        // uniform.
        let mut results = vec![choice; data.results.len()];
        for &region in &data.regions {
            self.region(region, inner);
            let returned = self.returned(region).to_vec();
            for (result, &value) in results.iter_mut().zip(&returned) {
                *result = self.relations.refine(*result, self.of[value]);
            }
        }
        for (&result, agreement) in data.results.iter().zip(results) {
            self.of[result] = agreement;
        }
    }

    fn while_loop(&mut self, op: OpId, control: Agreement) {
        let module = self.module;
        let data = &module.ops[op];
        let &[cond, body] = data.regions.as_slice() else { return };
        let (in_cond, in_body) = (&module.regions[cond].args, &module.regions[body].args);
        let carried = data.operands.len();
        // The loop is malformed if the numbers of carried values, region arguments and results differ. The module verifier reports this.
        if (in_cond.len(), in_body.len(), data.results.len()) != (carried, carried, carried) {
            return;
        }
        // Region arguments start with the relations of the loop's operands, and each pass over the body can only refine them. The
        // analysis ends after the first pass without a change.
        let first = self.begun.insert(op);
        for (i, &operand) in data.operands.iter().enumerate() {
            self.join_carried(operand, &[in_cond[i], in_body[i]], first);
        }
        let mut goes_on = control;
        loop {
            self.region(cond, goes_on);
            let predicate = self.returned(cond).to_vec();
            let decided = self.all(&predicate);
            let before = goes_on;
            goes_on = self.relations.refine(goes_on, decided);
            self.region(body, goes_on);
            let next = self.returned(body).to_vec();
            let mut changed = goes_on != before;
            for (i, &value) in next.iter().enumerate().take(carried) {
                changed |= self.join_carried(value, &[in_cond[i], in_body[i]], false);
            }
            if !changed {
                break;
            }
        }
        // Temporal divergence: devices that leave the loop after different numbers of iterations have different
        // values, even if all devices in each iteration agree.
        for (i, &result) in data.results.iter().enumerate() {
            let last = self.of[in_body[i]];
            self.of[result] = self.relations.refine(last, goes_on);
        }
    }

    /// Merges what is known about `value`, which enters a loop, into the region arguments `args`; the `first` time, copies it. Returns
    /// whether what is known about the arguments changed.
    fn join_carried(&mut self, value: ValueId, args: &[ValueId], first: bool) -> bool {
        let mut changed = false;
        for &arg in args {
            let known = match (self.known.get(&value), first) {
                (Some(value), true) => Some(value.clone()),
                (Some(value), false) if self.known.get(&arg) == Some(value) => Some(value.clone()),
                _ => None,
            };
            let agreement = self.relations.refine(self.of[arg], self.of[value]);
            changed |= agreement != self.of[arg] || known.is_none() && self.known.contains_key(&arg);
            self.of[arg] = agreement;
            match known {
                Some(known) => self.known.insert(arg, known),
                None => self.known.remove(&arg),
            };
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_devices_are_not_enumerated() {
        let program = r#"
          func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
            %s = "stablehlo.collective_permute"(%x) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}>
              : (tensor<4xf32>) -> tensor<4xf32>
            %t = "stablehlo.collective_permute"(%s) <{source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}>
              : (tensor<4xf32>) -> tensor<4xf32>
            return %t : tensor<4xf32>
          }"#;
        let module = shardc_stablehlo::parse(program).expect("a program");
        let body = module.entry().and_then(|func| module.funcs[func].body).expect("a body");
        let error = enumerated(&module, body, MAX_ENUMERATED / 2 + 1).err().expect("too many");
        assert_eq!(error.code, "SH0327");
        assert!(error.message.contains("2 collectives"), "{}", error.message);
        assert!(enumerated(&module, body, 2).is_ok());
    }
}
