//! Collectives, and transfers between devices and with the host.

use std::sync::Arc;

use shardc_ir::{CollectiveSpec, OpId, OpKind, RegionId, TransferSpec};

use super::frame::Frame;
use super::{Device, Stop, Values};
use crate::array::{Array, Dims};
use crate::error::Fault;
use crate::kernels::moves::block;
use crate::kernels::{elementwise, moves};
use crate::meeting::{Address, Gathered};
use crate::numbers::Domain;
use crate::value::Value;

/// The meaning of the numbers in replica groups.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Ids {
    Replicas,
    Partitions,
    /// Replicas, of which all partitions belong to the group.
    ReplicasWithPartitions,
    Devices,
}

/// The group of a device: its index among all groups, its members, and the place of the device.
pub(super) struct Group {
    index: usize,
    pub(super) members: Vec<usize>,
    pub(super) place: usize,
}

impl<D: Domain> Device<'_, '_, D> {
    /// The groups of a collective as device numbers (StableHLO specification, section "Collective ops").
    fn groups(&self, spec: &CollectiveSpec, ids: Ids) -> Vec<Vec<usize>> {
        let (replicas, partitions) = (self.grid.replicas, self.grid.partitions);
        let mut lists: Vec<Vec<usize>> = spec
            .groups
            .iter()
            .map(|group| group.iter().filter_map(|id| usize::try_from(id).ok()).collect())
            .collect();
        if spec.groups.num_ids() == 0 {
            let all = match ids {
                Ids::Replicas | Ids::ReplicasWithPartitions => replicas,
                Ids::Partitions => partitions,
                Ids::Devices => replicas * partitions,
            };
            lists = vec![(0..all).collect()];
        }
        match ids {
            Ids::Devices => lists,
            Ids::Replicas => {
                let across = |p: usize| {
                    lists.iter().map(move |list| list.iter().map(|r| r * partitions + p).collect())
                };
                (0..partitions).flat_map(across).collect()
            }
            Ids::Partitions => {
                let across = |r: usize| {
                    lists.iter().map(move |list| list.iter().map(|p| r * partitions + p).collect())
                };
                (0..replicas).flat_map(across).collect()
            }
            Ids::ReplicasWithPartitions => {
                let all = |list: &Vec<usize>| {
                    (0..partitions).flat_map(|p| list.iter().map(move |r| r * partitions + p)).collect()
                };
                lists.iter().map(all).collect()
            }
        }
    }

    /// The group of this device; `None` if it is in no group.
    pub(super) fn group(&self, spec: &CollectiveSpec, ids: Ids) -> Result<Option<Group>, Fault> {
        let groups = self.groups(spec, ids);
        // A device that does not exist would never arrive.
        if let Some(missing) = groups.iter().flatten().find(|&&device| device >= self.grid.devices()) {
            return Fault::invalid(format!("there is no device {missing}, only {}", self.grid.devices()));
        }
        let own = groups.into_iter().enumerate().find_map(|(index, members)| {
            let place = members.iter().position(|&member| member == self.id)?;
            Some(Group { index, members, place })
        });
        Ok(own)
    }

    /// Gives operands to the group, and waits for those of its other devices.
    pub(super) fn gather(
        &self,
        op: OpId,
        group: &Group,
        operands: Vec<Array<D>>,
    ) -> Result<Arc<Gathered<D>>, Fault> {
        self.meeting.meet(self.room(op, group.index), group.place, group.members.len(), operands)
    }

    /// Evaluates a collective.
    pub(super) fn collective(
        &self,
        op: OpId,
        operands: Vec<Array<D>>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Values<D>, Stop> {
        let data = &self.module.ops[op];
        self.charge_static_results(op)?;
        let reduced_ids =
            |spec: &CollectiveSpec| match (spec.use_global_device_ids, spec.crosses_partitions()) {
                (true, _) => Ids::Devices,
                (false, true) => Ids::ReplicasWithPartitions,
                (false, false) => Ids::Replicas,
            };
        let region = data.regions.first().copied();
        let results = match &data.kind {
            OpKind::AllReduce(spec) => {
                let group = self.group(spec, reduced_ids(spec))?.ok_or_else(outside)?;
                self.all_reduced(op, &group, region, operands, frame)?
            }
            OpKind::CrossReplicaSum(spec) => {
                let group = self.group(spec, Ids::Replicas)?.ok_or_else(outside)?;
                self.all_reduced(op, &group, None, operands, frame)?
            }
            OpKind::ReduceScatter { dim, spec } => {
                let group = self.group(spec, reduced_ids(spec))?.ok_or_else(outside)?;
                let reduced = self.all_reduced(op, &group, region, operands, frame)?;
                let part = |a: &Array<D>| block(a, *dim as usize, group.place, group.members.len());
                reduced.iter().map(part).collect::<Result<_, Fault>>()?
            }
            OpKind::AllGather { dim, spec } => {
                let group = self.group(spec, reduced_ids(spec))?.ok_or_else(outside)?;
                let gathered = self.gather(op, &group, operands)?;
                columns(&gathered.operands)
                    .iter()
                    .map(|parts| moves::concatenate(parts, *dim as usize))
                    .collect::<Result<_, Fault>>()?
            }
            OpKind::AllToAll { split_dim, concat_dim, split_count, spec } => {
                let group = self.group(spec, moved_ids(spec))?.ok_or_else(outside)?;
                let gathered = self.gather(op, &group, operands)?;
                let exchange = |parts: &Vec<Array<D>>| {
                    let part =
                        |a: &Array<D>| block(a, *split_dim as usize, group.place, *split_count as usize);
                    let parts = parts.iter().map(part).collect::<Result<Vec<_>, Fault>>()?;
                    moves::concatenate(&parts, *concat_dim as usize)
                };
                columns(&gathered.operands).iter().map(exchange).collect::<Result<_, Fault>>()?
            }
            OpKind::CollectivePermute(spec) => self.permuted(op, spec, moved_ids(spec), operands)?,
            OpKind::CollectiveBroadcast(spec) => self.broadcast(op, spec, moved_ids(spec), operands)?,
            OpKind::CollectiveReduce(spec) => self.rooted(op, spec, reduced_ids(spec), operands, frame)?,
            other => return Err(Fault::Internal(format!("{} is no collective", other.name())).into()),
        };
        Ok(results.into_iter().map(Value::Array).collect())
    }

    /// The reduction over a group, which the first device that needs it computes for all. If its region may wait for other devices, each
    /// device computes it.
    fn all_reduced(
        &self,
        op: OpId,
        group: &Group,
        region: Option<RegionId>,
        operands: Vec<Array<D>>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Vec<Array<D>>, Stop> {
        let gathered = self.gather(op, group, operands)?;
        if region.is_some_and(|region| self.may_wait(region)) {
            return self.folded(region, &gathered.operands, frame);
        }
        let mut inner = None;
        let shared = gathered.shared.get_or_init(|| {
            self.folded(region, &gathered.operands, frame).map_err(|stop| match stop {
                Stop::Fault(fault) => fault,
                Stop::Inner(error) => {
                    let fault = error.fault.clone();
                    inner = Some(error);
                    fault
                }
            })
        });
        match inner {
            Some(error) => Err(error.into()),
            None => Ok(shared.clone()?),
        }
    }

    /// Whether a region has operations that may wait for other devices, or whose result depends on the device.
    fn may_wait(&self, region: RegionId) -> bool {
        self.module.walk(region).into_iter().any(|op| match &self.module.ops[op].kind {
            OpKind::Call { .. }
            | OpKind::CustomCall(_)
            | OpKind::Composite(_)
            | OpKind::Infeed(_)
            | OpKind::Outfeed { .. }
            | OpKind::Send(_)
            | OpKind::Recv(_)
            | OpKind::PartitionId
            | OpKind::ReplicaId => true,
            kind => kind.collective().is_some(),
        })
    }

    fn folded(
        &self,
        region: Option<RegionId>,
        operands: &[Vec<Array<D>>],
        frame: &mut Frame<'_, D>,
    ) -> Result<Vec<Array<D>>, Stop> {
        let mut results = Vec::new();
        for parts in columns(operands) {
            let mut parts = parts.into_iter();
            let Some(mut sum) = parts.next() else { continue };
            let dims = Dims::from_slice(sum.dims());
            for part in parts {
                if part.dims() != dims.as_slice() {
                    return Err(Fault::Invalid("devices reduce arrays of different shapes".to_owned()).into());
                }
                self.charge(sum.len() as u64)?;
                let Some(region) = region else {
                    sum = elementwise::binary(shardc_ir::BinaryOp::Add, &sum, &part, 0)?;
                    continue;
                };
                let flat = Dims::from_slice(&[sum.len()]);
                let args = vec![sum.reshaped(flat.clone())?, part.reshaped(flat.clone())?];
                let mut combined = self.lifted(region, args, flat[0], frame)?;
                let last = combined.pop();
                sum = last
                    .ok_or_else(|| Fault::Invalid("a reducer without a result".to_owned()))?
                    .reshaped(dims.clone())?;
            }
            results.push(sum);
        }
        Ok(results)
    }

    /// Sends the operand to the target of this device, and returns that of its source, or zeros.
    fn permuted(
        &self,
        op: OpId,
        spec: &CollectiveSpec,
        ids: Ids,
        operands: Vec<Array<D>>,
    ) -> Result<Vec<Array<D>>, Stop> {
        let zeros = operands.iter().map(zeros).collect::<Result<Vec<_>, Fault>>()?;
        let pairs = self.groups(spec, ids);
        // A device may be the source of one pair and the target of another.
        let mut received = None;
        let values: Values<D> = operands.iter().cloned().map(Value::Array).collect();
        for (index, pair) in pairs.iter().enumerate() {
            match *pair.as_slice() {
                [source, target] if source == self.id && target == self.id => {
                    received = Some(operands.clone());
                }
                [source, _] if source == self.id => {
                    self.meeting.send(Address::Pair(self.room(op, index)), values.clone());
                }
                _ => {}
            }
        }
        for (index, pair) in pairs.iter().enumerate() {
            if let &[source, target] = pair.as_slice()
                && target == self.id
                && source != self.id
            {
                received = Some(super::arrays(self.meeting.receive(Address::Pair(self.room(op, index)))?)?);
            }
        }
        Ok(received.unwrap_or(zeros))
    }

    /// The operands of the root of the group; zeros outside of all groups.
    fn broadcast(
        &self,
        op: OpId,
        spec: &CollectiveSpec,
        ids: Ids,
        mut operands: Vec<Array<D>>,
    ) -> Result<Vec<Array<D>>, Stop> {
        let roots = roots(spec, &mut operands)?;
        let zeros = operands.iter().map(zeros).collect::<Result<Vec<_>, Fault>>()?;
        let Some(group) = self.group(spec, ids)? else { return Ok(zeros) };
        let gathered = self.gather(op, &group, operands)?;
        let source = |(index, root): (usize, usize)| {
            let found = gathered.operands.get(root).and_then(|operands| operands.get(index)).cloned();
            found.ok_or_else(|| Fault::Invalid(format!("the root {root} is not in the group")))
        };
        Ok(roots.into_iter().enumerate().map(source).collect::<Result<_, Fault>>()?)
    }

    /// The reduction over the group on its root; zeros on other devices.
    fn rooted(
        &self,
        op: OpId,
        spec: &CollectiveSpec,
        ids: Ids,
        mut operands: Vec<Array<D>>,
        frame: &mut Frame<'_, D>,
    ) -> Result<Vec<Array<D>>, Stop> {
        let roots = roots(spec, &mut operands)?;
        let zeros = operands.iter().map(zeros).collect::<Result<Vec<_>, Fault>>()?;
        let Some(group) = self.group(spec, ids)? else { return Ok(zeros) };
        let region = self.module.ops[op].regions.first().copied();
        let reduced = self.all_reduced(op, &group, region, operands, frame)?;
        let chosen = reduced.into_iter().zip(zeros).zip(roots);
        Ok(chosen.map(|((sum, zero), root)| if group.place == root { sum } else { zero }).collect())
    }

    /// Evaluates a transfer between devices or with the host.
    pub(super) fn transfer(&self, op: OpId, mut operands: Values<D>) -> Result<Values<D>, Stop> {
        let data = &self.module.ops[op];
        match &data.kind {
            OpKind::Send(spec) => {
                operands.pop();
                if let Some(channel) = self.channel(spec, true) {
                    self.meeting.send(channel, operands);
                }
                Ok(vec![Value::Token])
            }
            OpKind::Recv(spec) => {
                let mut values = match self.channel(spec, false) {
                    Some(channel) => self.meeting.receive(channel)?,
                    None => Vec::new(),
                };
                values.push(Value::Token);
                Ok(values)
            }
            OpKind::Infeed(_) => {
                let count = data.results.len().saturating_sub(1);
                let mut values = Vec::new();
                for _ in 0..count {
                    values.push(Value::Array(self.meeting.infeed()?));
                }
                values.push(Value::Token);
                Ok(values)
            }
            _ => {
                operands.pop();
                self.meeting.outfeed(operands);
                Ok(vec![Value::Token])
            }
        }
    }

    /// The channel of a transfer. Transfers between given pairs of devices have one channel per pair.
    fn channel(&self, spec: &TransferSpec, sends: bool) -> Option<Address> {
        let channel = |pair| Some(Address::Channel(spec.channel.handle, pair));
        let Some(pairs) = spec.source_target_pairs.as_ref().filter(|pairs| !pairs.is_empty()) else {
            return channel(None);
        };
        let own = |pair: (i64, i64)| usize::try_from(if sends { pair.0 } else { pair.1 }) == Ok(self.id);
        let index = pairs.iter().position(|pair| pair.pair().is_some_and(own))?;
        channel(Some(index))
    }
}

/// The root of each operand, as an index in the group: the elements of the last operand, if roots are dynamic.
fn roots<D: Domain>(spec: &CollectiveSpec, operands: &mut Vec<Array<D>>) -> Result<Vec<usize>, Fault> {
    if !spec.has_dynamic_root {
        return Ok(vec![0; operands.len()]);
    }
    let roots = operands.pop().and_then(|roots| roots.to_integers()).unwrap_or_default();
    if roots.len() != operands.len() {
        return Fault::invalid("not one root for each operand");
    }
    let root = |root: i64| usize::try_from(root).or_else(|_| Fault::invalid("a negative root"));
    roots.into_iter().map(root).collect()
}

/// The ids of a collective that moves values.
pub(super) fn moved_ids(spec: &CollectiveSpec) -> Ids {
    if spec.crosses_partitions() { Ids::Partitions } else { Ids::Replicas }
}

fn outside() -> Fault {
    Fault::Invalid("the device is in no replica group".to_owned())
}

/// An array of zeros with the type of another.
fn zeros<D: Domain>(like: &Array<D>) -> Result<Array<D>, Fault> {
    elementwise::spread(&Array::full(Dims::new(), like.dtype(), 0.0)?, like.dims())
}

/// For each operand, its value on each device.
fn columns<D: Domain>(operands: &[Vec<Array<D>>]) -> Vec<Vec<Array<D>>> {
    let count = operands.first().map_or(0, Vec::len);
    (0..count).map(|i| operands.iter().filter_map(|device| device.get(i).cloned()).collect()).collect()
}
