//! Computes the messages and the results of cross-process collectives.
//!
//! The computations are pure functions of arrays. A process reduces the operands of its own devices before it sends them to other
//! processes. Reductions combine the data of processes in ascending order of process indices, so that all devices get the same bits.

use std::collections::BTreeMap;

use shardc_ir::ReductionKind;

use super::spec::{Action, Spec};
use crate::error::{Result, RuntimeError};
use crate::host::HostArray;

/// The operands of this process's devices, keyed by device index: the list has one array per operand.
pub(super) type Operands = BTreeMap<usize, Vec<HostArray>>;

/// The data of one process in a meeting (one execution of a collective by one group of devices). All devices of this process in the group
/// have registered their operands.
pub(super) struct Meeting<'a> {
    pub(super) spec: &'a Spec,
    pub(super) group: usize,
    pub(super) process: usize,
    pub(super) operands: &'a Operands,
}

impl Meeting<'_> {
    /// The indices of the devices of the group, in the order of the group.
    fn order(&self) -> &[usize] {
        self.spec.groups.get(self.group).map_or(&[], Vec::as_slice)
    }

    fn operand(&self, device: usize, i: usize) -> Result<&HostArray> {
        self.operands.get(&device).and_then(|arrays| arrays.get(i)).ok_or_else(|| {
            RuntimeError::Argument(format!("device {device} reached a collective without operand {i}"))
        })
    }

    /// The shape of operand `i` on each device.
    fn shape(&self, i: usize) -> Result<&[usize]> {
        let first = self.operands.keys().next().copied().unwrap_or_default();
        Ok(&self.operand(first, i)?.shape)
    }

    /// The reduction of operand `i` over the devices of this process.
    fn partial(&self, i: usize, by: ReductionKind) -> Result<HostArray> {
        let members = self.spec.members(self.group, self.process);
        let arrays = members.iter().map(|&device| self.operand(device, i)).collect::<Result<Vec<_>>>()?;
        HostArray::combined(&arrays, by)
    }

    /// Divides an array along `dim` into as many blocks as the group has devices, and returns the block of the device at position `place`
    /// in the group.
    fn block(&self, array: &HostArray, dim: usize, place: usize) -> Result<HostArray> {
        let sizes = self.block_shape(&array.shape, dim)?;
        let mut offsets = vec![0; sizes.len()];
        offsets[dim] = place * sizes[dim];
        array.slice_block(&offsets, &sizes, 0.0)
    }

    fn block_shape(&self, shape: &[usize], dim: usize) -> Result<Vec<usize>> {
        let count = self.order().len();
        let mut sizes = shape.to_vec();
        let size = sizes.get_mut(dim).filter(|size| **size % count == 0).ok_or_else(|| {
            RuntimeError::Argument(format!(
                "cannot divide shape {shape:?} into {count} blocks along dimension {dim}"
            ))
        })?;
        *size /= count;
        Ok(sizes)
    }

    /// Encodes the data that this process sends to process `to`.
    pub(super) fn outgoing(&self, to: usize) -> Result<Vec<u8>> {
        let (here, there) = (self.spec.members(self.group, self.process), self.spec.members(self.group, to));
        let mut bytes = Vec::new();
        let mut add = |array: &HostArray| bytes.extend_from_slice(&array.data);
        for i in 0..self.spec.types.len() {
            match self.spec.action {
                Action::AllReduce { by } => add(&self.partial(i, by)?),
                Action::AllGather { .. } => {
                    for &device in &here {
                        add(self.operand(device, i)?);
                    }
                }
                Action::ReduceScatter { by, dim } => {
                    let partial = self.partial(i, by)?;
                    for &device in &there {
                        add(&self.block(&partial, dim, self.place(device)?)?);
                    }
                }
                Action::AllToAll { split, .. } => {
                    for &device in &here {
                        for &target in &there {
                            add(&self.block(self.operand(device, i)?, split, self.place(target)?)?);
                        }
                    }
                }
                Action::Permute => {
                    for pair in self.pairs(self.process, to) {
                        add(self.operand(pair.0, i)?);
                    }
                }
            }
        }
        Ok(bytes)
    }

    fn place(&self, device: usize) -> Result<usize> {
        self.order()
            .iter()
            .position(|&member| member == device)
            .ok_or_else(|| RuntimeError::Argument(format!("device {device} is not in the group")))
    }

    /// Returns the source-target pairs of a permute whose source is in process `from` and whose target is in process `to`.
    fn pairs(&self, from: usize, to: usize) -> impl Iterator<Item = (usize, usize)> {
        let pairs = self.spec.groups.iter().filter_map(|pair| Some((*pair.first()?, *pair.last()?)));
        pairs.filter(move |&(source, target)| {
            self.spec.process_of(source) == from && self.spec.process_of(target) == to
        })
    }

    /// Computes the results of this process's devices, keyed by device index. `arrived` has the messages of the other processes, keyed by
    /// process index.
    pub(super) fn results(&self, arrived: &BTreeMap<usize, Vec<u8>>) -> Result<Operands> {
        let members = self.spec.members(self.group, self.process);
        let mut results: Operands = members.iter().map(|&device| (device, Vec::new())).collect();
        let mut mail: BTreeMap<usize, Cursor<'_>> =
            arrived.iter().map(|(&process, bytes)| (process, Cursor { process, bytes })).collect();
        for i in 0..self.spec.types.len() {
            for (device, array) in self.results_of(i, &members, &mut mail)? {
                results.entry(device).or_default().push(array);
            }
        }
        mail.values().try_for_each(Cursor::finish)?;
        Ok(results)
    }

    fn results_of(
        &self,
        i: usize,
        members: &[usize],
        mail: &mut BTreeMap<usize, Cursor<'_>>,
    ) -> Result<Vec<(usize, HostArray)>> {
        let dtype = self.spec.types[i];
        let shape = self.shape(i)?.to_vec();
        match self.spec.action {
            Action::AllReduce { by } => {
                let own = self.partial(i, by)?;
                let mut partials: BTreeMap<usize, HostArray> = BTreeMap::from([(self.process, own)]);
                for (&process, mail) in mail.iter_mut() {
                    partials.insert(process, mail.take(dtype, &shape)?);
                }
                let whole = HostArray::combined(&partials.values().collect::<Vec<_>>(), by)?;
                Ok(members.iter().map(|&device| (device, whole.clone())).collect())
            }
            Action::AllGather { dim } => {
                let mut whole_shape = shape.clone();
                let size = whole_shape.get_mut(dim).ok_or_else(|| no_dimension(dim))?;
                *size *= self.order().len();
                let mut whole = HostArray::zeros(dtype, &whole_shape)?;
                for (place, &device) in self.order().iter().enumerate() {
                    let mut offsets = vec![0; shape.len()];
                    offsets[dim] = place * shape[dim];
                    let process = self.spec.process_of(device);
                    match mail.get_mut(&process) {
                        Some(mail) => whole.paste_block(&mail.take(dtype, &shape)?, &offsets)?,
                        None => whole.paste_block(self.operand(device, i)?, &offsets)?,
                    }
                }
                Ok(members.iter().map(|&device| (device, whole.clone())).collect())
            }
            Action::ReduceScatter { by, dim } => {
                let own = self.partial(i, by)?;
                let sizes = self.block_shape(&shape, dim)?;
                let mut blocks = Vec::with_capacity(members.len());
                for &device in members {
                    let mut partials =
                        BTreeMap::from([(self.process, self.block(&own, dim, self.place(device)?)?)]);
                    for (&process, mail) in mail.iter_mut() {
                        partials.insert(process, mail.take(dtype, &sizes)?);
                    }
                    blocks.push((device, HostArray::combined(&partials.values().collect::<Vec<_>>(), by)?));
                }
                Ok(blocks)
            }
            Action::AllToAll { split, concat } => self.exchanged(i, members, mail, (split, concat)),
            Action::Permute => {
                let mut got: BTreeMap<usize, HostArray> = BTreeMap::new();
                for (source, target) in self.pairs(self.process, self.process) {
                    got.insert(target, self.operand(source, i)?.clone());
                }
                for (&process, mail) in mail.iter_mut() {
                    for (_, target) in self.pairs(process, self.process) {
                        got.insert(target, mail.take(dtype, &shape)?);
                    }
                }
                let of = |&device: &usize| {
                    let array = got.remove(&device).map_or_else(|| HostArray::zeros(dtype, &shape), Ok);
                    Ok((device, array?))
                };
                members.iter().map(of).collect()
            }
        }
    }

    /// Computes the result `i` of an all-to-all for each of the devices `members`.
    fn exchanged(
        &self,
        i: usize,
        members: &[usize],
        mail: &mut BTreeMap<usize, Cursor<'_>>,
        (split, concat): (usize, usize),
    ) -> Result<Vec<(usize, HostArray)>> {
        let (dtype, shape) = (self.spec.types[i], self.shape(i)?);
        let sizes = self.block_shape(shape, split)?;
        let mut whole_shape = sizes.clone();
        *whole_shape.get_mut(concat).ok_or_else(|| no_dimension(concat))? *= self.order().len();
        let mut results: BTreeMap<usize, HostArray> = BTreeMap::new();
        for &device in members {
            results.insert(device, HostArray::zeros(dtype, &whole_shape)?);
        }
        for (place, &source) in self.order().iter().enumerate() {
            let mut offsets = vec![0; sizes.len()];
            offsets[concat] = place * sizes[concat];
            for &device in members {
                let block = match mail.get_mut(&self.spec.process_of(source)) {
                    Some(mail) => mail.take(dtype, &sizes)?,
                    None => self.block(self.operand(source, i)?, split, self.place(device)?)?,
                };
                if let Some(result) = results.get_mut(&device) {
                    result.paste_block(&block, &offsets)?;
                }
            }
        }
        Ok(results.into_iter().collect())
    }
}

fn no_dimension(dim: usize) -> RuntimeError {
    RuntimeError::Argument(format!("a collective uses dimension {dim}, which its operand does not have"))
}

/// The part of a message of another process that was not decoded yet.
struct Cursor<'a> {
    process: usize,
    bytes: &'a [u8],
}

impl Cursor<'_> {
    fn take(&mut self, dtype: shardc_ir::DType, shape: &[usize]) -> Result<HostArray> {
        let size = HostArray::byte_size(dtype, shape)?;
        let (array, rest) = self.bytes.split_at_checked(size).ok_or_else(|| self.unfitting())?;
        self.bytes = rest;
        HostArray::new(dtype, shape, array.to_vec())
    }

    fn finish(&self) -> Result<()> {
        if self.bytes.is_empty() { Ok(()) } else { Err(self.unfitting()) }
    }

    fn unfitting(&self) -> RuntimeError {
        RuntimeError::Argument(format!(
            "process {} reached a collective with arrays of different shapes: it runs a different program",
            self.process
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shardc_ir::DType;

    /// Runs a collective over processes that this function simulates; the operand of device `d` is `operand(d)`. Returns each device's
    /// results.
    fn run(text: &str, processes: usize, operand: impl Fn(usize) -> HostArray) -> Operands {
        let spec = Spec::parse(text).unwrap();
        let groups = if spec.action == Action::Permute { 1 } else { spec.groups.len() };
        let mut all = Operands::new();
        for group in 0..groups {
            let of = |process: usize| -> Operands {
                let members = spec.members(group, process);
                members.into_iter().map(|device| (device, vec![operand(device)])).collect()
            };
            let operands: Vec<Operands> = (0..processes).map(of).collect();
            let meeting =
                |process: usize| Meeting { spec: &spec, group, process, operands: &operands[process] };
            for (process, own) in operands.iter().enumerate() {
                let sources = spec.sources(group, process);
                let arrived =
                    sources.iter().map(|&from| (from, meeting(from).outgoing(process).unwrap())).collect();
                if !own.is_empty() {
                    all.extend(meeting(process).results(&arrived).unwrap());
                }
            }
        }
        all
    }

    fn vector(values: &[f64]) -> HostArray {
        HostArray::from_f64(DType::F32, &[values.len()], values).unwrap()
    }

    fn values(results: &Operands) -> Vec<Vec<f64>> {
        results.values().map(|arrays| arrays[0].to_f64_vec()).collect()
    }

    #[test]
    fn reductions() {
        let of = |d: usize| vector(&[d as f64, 10.0]);
        let got = run("all_reduce channel=0 per=2 by=add types=f32 groups=0,2;1,3", 2, of);
        assert_eq!(values(&got), [[2.0, 20.0], [4.0, 20.0], [2.0, 20.0], [4.0, 20.0]]);
        let got = run("all_reduce channel=0 per=2 by=max types=f32 groups=0,1,2,3", 2, of);
        assert_eq!(values(&got), [[3.0, 10.0]; 4]);
    }

    #[test]
    fn gathering_keeps_the_groups_order() {
        let of = |d: usize| vector(&[d as f64]);
        let got = run("all_gather channel=0 per=2 dim=0 types=f32 groups=3,0,1,2", 2, of);
        assert_eq!(values(&got), [[3.0, 0.0, 1.0, 2.0]; 4]);
    }

    #[test]
    fn scattering_gives_each_its_block() {
        let of = |d: usize| vector(&[d as f64, 10.0 * d as f64, 100.0, 1.0]);
        let got = run("reduce_scatter channel=0 per=2 by=add dim=0 types=f32 groups=2,0,1,3", 2, of);
        assert_eq!(values(&got), [[60.0], [400.0], [6.0], [4.0]]);
    }

    #[test]
    fn exchanges() {
        let of = |d: usize| vector(&[d as f64, 10.0 + d as f64]);
        let got = run("all_to_all channel=0 per=1 split=0 concat=0 types=f32 groups=0,1", 2, of);
        assert_eq!(values(&got), [[0.0, 1.0], [10.0, 11.0]]);
    }

    #[test]
    fn permutes_send_zeros_to_those_without_a_source() {
        let of = |d: usize| vector(&[1.0 + d as f64]);
        let got = run("collective_permute channel=0 per=2 types=f32 groups=0,2;2,1;1,0", 2, of);
        assert_eq!(values(&got), [[2.0], [3.0], [1.0], [0.0]]);
    }

    #[test]
    fn messages_of_another_length_are_refused() {
        let spec = Spec::parse("all_reduce channel=0 per=1 by=add types=f32 groups=0,1").unwrap();
        let operands = Operands::from([(0, vec![vector(&[1.0])])]);
        let meeting = Meeting { spec: &spec, group: 0, process: 0, operands: &operands };
        for bytes in [vec![0; 3], vec![0; 5]] {
            let error = meeting.results(&BTreeMap::from([(1, bytes)])).unwrap_err();
            assert!(error.to_string().contains("process 1"), "{error}");
        }
    }
}
