//! C4: the devices of a group come to a collective equally often.
//!
//! All devices run one program, so that they part only where a `case`, `if` or `while` asks for a value that differs
//! between them. A data-flow analysis says which devices agree on each value: those that hold the same block of a
//! parameter do, and those that a collective gives the same; the number of a device is its own. Elements that are only
//! padding do not count. What a value decides, only the devices that agree on it do together.
//!
//! This is divergence analysis as compilers for GPUs do it, with devices for threads; instead of "uniform or not" a value has
//! an equivalence relation over the devices. Relations only ever get finer, each at most as often as there are devices, so that
//! loops come to a fixed point; an inner loop goes on where it was when the outer one is analyzed again.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};
use shardc_ir::{
    AxisList, AxisRef, CollectiveSpec, Diagnostic, FuncId, ManualSpec, Mesh, Module, OpId, OpKind, RegionId,
    ReplicaGroups, SecondaryMap, SliceSpec, ValueId,
};

use super::agreement::{Agreement, Agreements};
use super::broken;
use crate::analysis::device_scalars::{PerDevice, evaluate};
use crate::manual::{Scope, device_groups};
use crate::sharding::interface::{Interface, InterfaceTensor};

pub(super) fn check(
    module: &Module,
    func: FuncId,
    interface: Option<&Interface>,
    devices: usize,
    errors: &mut Vec<Diagnostic>,
) {
    let Some(body) = module.funcs[func].body else { return };
    let mut flow = Flow::new(module, devices);
    if let Some(interface) = interface {
        for (&arg, tensor) in module.regions[body].args.iter().zip(&interface.inputs) {
            flow.of[arg] = flow.parameter(interface, tensor);
        }
    }
    flow.region(body, Agreement::ALIKE);
    for (op, a, b) in flow.first_divergences() {
        let message = format!(
            "{} is for devices {a} and {b} together, but what decides whether they come to it can differ between them",
            module.ops[op].kind.name()
        );
        errors.push(broken(module, op, "SH0462", message));
    }
}

/// Returns the collectives in the manual computation `op`, of a program that is not partitioned, to which two devices may
/// come unequally often, with the two. Values from around the computation are the same for all.
pub(super) fn divergences(module: &Module, op: OpId, mesh: &Mesh) -> Vec<(OpId, i64, i64)> {
    let mut flow = Flow::new(module, mesh.num_devices());
    flow.written = Some(ManualContext { mesh, scope: Scope::default() });
    flow.op(op, Agreement::ALIKE);
    flow.first_divergences()
}

/// Where the program itself says what each device does.
struct ManualContext<'m> {
    mesh: &'m Mesh,
    /// What is manual at the operation that is looked at.
    scope: Scope,
}

/// The state of the analysis of one program.
struct Flow<'m> {
    module: &'m Module,
    devices: usize,
    agreements: Agreements,
    /// Which devices hold equal values.
    of: SecondaryMap<ValueId, Agreement>,
    /// The parts of values that were concatenated, and have not been computed with since.
    parts: FxHashMap<ValueId, Concatenated>,
    /// Single integers that follow from the number of the device.
    known: FxHashMap<ValueId, PerDevice>,
    /// Loops whose carried values have an agreement already.
    begun: FxHashSet<OpId>,
    /// Collectives with two devices that may not both come to them.
    divergent: Vec<(OpId, i64, i64)>,
    /// What is manual, in a program that is not partitioned yet.
    written: Option<ManualContext<'m>>,
}

/// A concatenation along a dimension, part by part. Small collectives are combined so, and sliced again: without this, a
/// condition that was reduced together with anything divergent would count as divergent.
struct Concatenated {
    dim: usize,
    /// Where each ends, and which devices agree on it.
    of: Vec<(i64, Agreement)>,
}

/// Whether a collective leaves this dimension as it is.
fn keeps(kind: &OpKind, dim: usize) -> bool {
    match kind {
        OpKind::AllReduce(_) | OpKind::CollectivePermute(_) => true,
        OpKind::AllGather { dim: changed, .. } | OpKind::ReduceScatter { dim: changed, .. } => {
            *changed as usize != dim
        }
        _ => false,
    }
}

impl<'m> Flow<'m> {
    fn new(module: &'m Module, devices: usize) -> Flow<'m> {
        Flow {
            module,
            devices,
            agreements: Agreements::new(devices),
            of: SecondaryMap::new(),
            parts: FxHashMap::default(),
            known: FxHashMap::default(),
            begun: FxHashSet::default(),
            divergent: Vec::new(),
            written: None,
        }
    }

    /// Returns the first divergence of each collective: a loop is analyzed several times.
    fn first_divergences(self) -> Vec<(OpId, i64, i64)> {
        let mut seen = FxHashSet::default();
        self.divergent.into_iter().filter(|&(op, ..)| seen.insert(op)).collect()
    }

    /// Returns the groups, or pairs, of devices of a collective.
    fn groups(&self, op: OpId, spec: &CollectiveSpec) -> ReplicaGroups {
        if let Some(ManualContext { mesh, scope }) = &self.written {
            // Planning refuses groups that are none.
            return device_groups(self.module, op, mesh, scope).unwrap_or_default();
        }
        let is_permute = matches!(self.module.ops[op].kind, OpKind::CollectivePermute(_));
        if spec.groups.is_empty() && !is_permute {
            return ReplicaGroups::all(self.devices);
        }
        spec.groups.clone()
    }

    /// Returns the number that each device gets as its own: that of the first of the devices that are one to the program.
    fn own_numbers(&self) -> PerDevice {
        let Some(ManualContext { mesh, scope }) = &self.written else {
            return (0..self.devices as i64).collect();
        };
        let mut first: FxHashMap<i64, i64> = FxHashMap::default();
        let mut numbers = vec![0; self.devices];
        for position in 0..mesh.num_devices() {
            let device = mesh.device_at(position);
            let number = *first.entry(mesh.linear_coordinate(position, &scope.axes)).or_insert(device);
            if let Some(slot) = usize::try_from(device).ok().and_then(|d| numbers.get_mut(d)) {
                *slot = number;
            }
        }
        numbers.into_iter().collect()
    }

    /// Analyzes the body of a manual computation, with the blocks that each device has of what goes in.
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
            let mut blocks = vec![0; self.devices];
            for position in 0..mesh.num_devices() {
                let device = usize::try_from(mesh.device_at(position)).ok();
                if let Some(block) = device.and_then(|device| blocks.get_mut(device)) {
                    *block = mesh.linear_coordinate(position, &axes);
                }
            }
            let held = self.agreements.by_key(blocks);
            self.of[arg] = self.agreements.refine(self.of[operand], held);
        }
        self.written = Some(ManualContext { mesh, scope: inner });
        self.region(body, control);
        self.written = Some(ManualContext { mesh, scope: outer });
        let returned = self.returned(body).to_vec();
        for (&result, &value) in data.results.iter().zip(&returned) {
            self.of[result] = self.of[value];
        }
    }

    /// Returns which devices are fed the same block of a parameter.
    fn parameter(&mut self, interface: &Interface, tensor: &InterfaceTensor) -> Agreement {
        let mesh = interface.mesh_of(tensor);
        let mut blocks: Vec<Vec<i64>> = vec![Vec::new(); self.devices];
        for position in 0..mesh.num_devices() {
            let block = tensor.sharding.dims.iter().map(|d| mesh.linear_coordinate(position, &d.axes));
            let device = usize::try_from(mesh.device_at(position)).ok();
            if let Some(slot) = device.and_then(|d| blocks.get_mut(d)) {
                *slot = block.collect();
            }
        }
        self.agreements.by_key(blocks)
    }

    /// Analyzes a region; devices that agree in `control` come to it equally often.
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
            OpKind::PartitionId | OpKind::ReplicaId => {
                let ids = self.own_numbers();
                for &result in &data.results {
                    self.of[result] = self.agreements.by_key(ids.iter());
                    self.known.insert(result, Rc::clone(&ids));
                }
            }
            // What comes from outside, or from a generator of the device's own, may be anything on any device.
            OpKind::Infeed(_) | OpKind::Recv(_) | OpKind::Rng(_) => {
                for &result in &data.results {
                    self.of[result] = Agreement::APART;
                }
            }
            // Each value by itself.
            OpKind::OptimizationBarrier => {
                for (&value, &result) in data.operands.iter().zip(&data.results) {
                    self.of[result] = self.of[value];
                    if let Some(known) = self.known.get(&value).cloned() {
                        self.known.insert(result, known);
                    }
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

    /// Analyzes an operation without communication: what is computed from equal values is equal.
    fn compute(&mut self, op: OpId, control: Agreement) {
        let module = self.module;
        let data = &module.ops[op];
        let mut agreement = self.all(&data.operands);
        for &region in &data.regions {
            // Whatever the operation does with its regions, it does with values from around them too.
            self.region(region, control);
            for inner in module.walk(region) {
                let around = self.all(&module.ops[inner].operands);
                agreement = self.agreements.refine(agreement, around);
            }
        }
        // Only what diverges is worth evaluating: this keeps `known` small.
        if agreement == Agreement::ALIKE {
            return self.set_all(&data.results, agreement);
        }
        let known = evaluate(module, op, self.devices, |v| self.known.get(&v).cloned());
        if let (Some(known), &[result]) = (known, data.results.as_slice()) {
            self.of[result] = self.agreements.by_key(known.iter());
            self.known.insert(result, known);
            return;
        }
        if let &[result] = data.results.as_slice() {
            self.known.remove(&result);
        }
        self.set_all(&data.results, agreement);
    }

    fn all(&mut self, values: &[ValueId]) -> Agreement {
        values.iter().fold(Agreement::ALIKE, |a, &v| self.agreements.refine(a, self.of[v]))
    }

    fn set_all(&mut self, values: &[ValueId], agreement: Agreement) {
        for &value in values {
            self.of[value] = agreement;
        }
    }

    /// Notes a divergence if the members of a group do not agree on coming to the collective.
    fn check_converged(&mut self, op: OpId, spec: &CollectiveSpec, control: Agreement) {
        if control == Agreement::ALIKE {
            return;
        }
        let groups = self.groups(op, spec);
        let classes = self.agreements.classes(control);
        let class = |device: i64| usize::try_from(device).ok().and_then(|d| classes.get(d));
        for group in groups.iter() {
            let Some(first) = group.first() else { continue };
            if let Some(other) = group.iter().find(|&d| d >= 0 && class(d) != class(first)) {
                self.divergent.push((op, first, other));
                return;
            }
        }
    }

    /// Analyzes a collective in which what each device gets follows from what its group puts in and, if `by_place`, from its
    /// place in the group.
    fn exchange(&mut self, op: OpId, spec: &CollectiveSpec, by_place: bool) {
        let groups = self.groups(op, spec);
        let devices = self.devices;
        self.send(op, |agreements, before| {
            let classes = agreements.classes(before);
            // What a group holds goes by a number, zero where there is none: groups are as large as they are few.
            let mut numbers: FxHashMap<Vec<u32>, usize> = FxHashMap::default();
            let mut keys: Vec<(usize, usize)> = vec![(0, 0); devices];
            for group in groups.iter() {
                let members: Vec<usize> = group.iter().filter_map(|d| usize::try_from(d).ok()).collect();
                let held: Vec<u32> = members.iter().filter_map(|&d| classes.get(d).copied()).collect();
                let next = numbers.len() + 1;
                let number = *numbers.entry(held).or_insert(next);
                for (place, &device) in members.iter().enumerate() {
                    if let Some(key) = keys.get_mut(device) {
                        *key = (number, if by_place { place } else { 0 });
                    }
                }
            }
            agreements.by_key(keys)
        });
    }

    /// Analyzes a permute: each device gets what its source holds, or zeros.
    fn permute(&mut self, op: OpId, spec: &CollectiveSpec) {
        let pairs = self.groups(op, spec);
        let devices = self.devices;
        self.send(op, |agreements, before| {
            let classes = agreements.classes(before);
            let mut keys: Vec<Option<u32>> = vec![None; devices];
            for pair in pairs.iter() {
                let Some((source, target)) = pair.pair() else { continue };
                let held = usize::try_from(source).ok().and_then(|d| classes.get(d).copied());
                if let Some(key) = usize::try_from(target).ok().and_then(|d| keys.get_mut(d)) {
                    *key = held;
                }
            }
            agreements.by_key(keys)
        });
    }

    /// Applies `after`, what a collective does to an agreement, to its operands. Where several values are exchanged at once,
    /// each is by itself, and so is each part of one that was concatenated for it.
    fn send(&mut self, op: OpId, after: impl Fn(&mut Agreements, Agreement) -> Agreement) {
        let data = &self.module.ops[op];
        if data.operands.len() != data.results.len() {
            let operands = self.all(&data.operands);
            let agreement = after(&mut self.agreements, operands);
            return self.set_all(&data.results, agreement);
        }
        for (&operand, &result) in data.operands.iter().zip(&data.results) {
            self.of[result] = after(&mut self.agreements, self.of[operand]);
            let Some(parts) = self.parts.get(&operand).filter(|parts| keeps(&data.kind, parts.dim)) else {
                continue;
            };
            let of = parts.of.iter().map(|&(end, before)| (end, after(&mut self.agreements, before)));
            let parts = Concatenated { dim: parts.dim, of: of.collect() };
            self.parts.insert(result, parts);
        }
    }

    /// Notes the parts of a concatenation.
    fn concatenate(&mut self, op: OpId, dim: usize) {
        let data = &self.module.ops[op];
        let &[result] = data.results.as_slice() else { return };
        let mut end = 0_i64;
        let mut of = Vec::with_capacity(data.operands.len());
        for &v in &data.operands {
            // Where a size is not known, nor is it where the next part begins.
            let size = self.module.shape(v).get(dim).copied().filter(|&size| size >= 0);
            let Some(next) = size.and_then(|size| end.checked_add(size)) else { return };
            end = next;
            of.push((end, self.of[v]));
        }
        self.parts.insert(result, Concatenated { dim, of });
    }

    /// Analyzes a slice of a concatenation: it agrees as the parts agree that it touches.
    fn slice(&mut self, op: OpId, spec: &SliceSpec) {
        let data = &self.module.ops[op];
        let (&[operand], &[result]) = (data.operands.as_slice(), data.results.as_slice()) else { return };
        let Some(Concatenated { dim, of }) = self.parts.get(&operand) else { return };
        let (Some(&start), Some(&limit)) = (spec.start.get(*dim), spec.limit.get(*dim)) else { return };
        let mut begin = 0;
        let mut agreement = Agreement::ALIKE;
        for &(end, part) in of {
            if start < end && begin < limit {
                agreement = self.agreements.refine(agreement, part);
            }
            begin = end;
        }
        self.of[result] = agreement;
    }

    /// Returns the values that a region returns.
    fn returned(&self, region: RegionId) -> &[ValueId] {
        let end = self.module.terminator(region);
        end.map_or(&[], |end| self.module.ops[end].operands.as_slice())
    }

    fn branch(&mut self, op: OpId, control: Agreement) {
        let module = self.module;
        let data = &module.ops[op];
        let choice = self.all(&data.operands);
        let inner = self.agreements.refine(control, choice);
        // Devices that take different branches get different results even where each branch alone is uniform: control
        // dependence, which following operands only would miss.
        let mut results = vec![choice; data.results.len()];
        for &region in &data.regions {
            self.region(region, inner);
            let returned = self.returned(region).to_vec();
            for (result, &value) in results.iter_mut().zip(&returned) {
                *result = self.agreements.refine(*result, self.of[value]);
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
        // The verifier of modules has its say about other loops.
        if (in_cond.len(), in_body.len(), data.results.len()) != (carried, carried, carried) {
            return;
        }
        // Arguments begin as coarse as what goes in, and each trip only makes them finer: the first trip that changes
        // nothing is the last.
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
            goes_on = self.agreements.refine(goes_on, decided);
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
        // Temporal divergence: devices that leave after different numbers of trips leave with different values, though in
        // each trip all those that are in it agree.
        for (i, &result) in data.results.iter().enumerate() {
            let last = self.of[in_body[i]];
            self.of[result] = self.agreements.refine(last, goes_on);
        }
    }

    /// Joins `value` into the arguments `args` of a loop, which stay what they were before too unless this is the `first` time.
    /// Returns whether that changes what is known of them.
    fn join_carried(&mut self, value: ValueId, args: &[ValueId], first: bool) -> bool {
        let mut changed = false;
        for &arg in args {
            let known = match (self.known.get(&value), first) {
                (Some(value), true) => Some(Rc::clone(value)),
                (Some(value), false) if self.known.get(&arg) == Some(value) => Some(Rc::clone(value)),
                _ => None,
            };
            let agreement = self.agreements.refine(self.of[arg], self.of[value]);
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
