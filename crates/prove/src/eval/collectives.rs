//! Collectives: they move digits between the device and dimensions, or reduce over digits of the device.

use shardc_ir::{CollectiveSpec, OpId, OpKind, ReplicaGroups, reducer};

use super::{Eval, OrStop, Stop};
use crate::algebra::{Linear, join_of};
use crate::terms::{CORE, DEVICE, Digit, Digits, Kind, Op, View, push};

/// The digits of the device that differ between the members of a group, from major to minor.
struct Group {
    members: Vec<Digit>,
    count: u64,
}

impl Eval<'_, '_> {
    /// Whether the groups of a collective list devices.
    fn lists_devices(&self, spec: &CollectiveSpec, is_reduction: bool) -> bool {
        if self.devices.are_partitions {
            spec.crosses_partitions() && (!is_reduction || spec.use_global_device_ids)
        } else {
            // With one partition, ids of replicas and global ids are the same.
            !spec.crosses_partitions() || is_reduction
        }
    }

    /// The groups by positions in the mesh.
    fn group(&self, spec: &CollectiveSpec, is_reduction: bool) -> Result<Group, Stop> {
        if !self.lists_devices(spec, is_reduction) {
            return Stop::rule("groups that do not list the devices of this mode");
        }
        let count = self.devices.count;
        let groups = if spec.groups.is_empty() || spec.groups.num_ids() == 0 {
            ReplicaGroups::all(count as usize)
        } else {
            self.positions(&spec.groups)
        };
        let Some(strided) = groups.as_strided().filter(|strided| strided.num_devices() as u64 == count)
        else {
            return Stop::rule("groups that are not axes of the mesh");
        };
        let members: Vec<Digit> = strided
            .members()
            .iter()
            .map(|digit| Digit { slot: DEVICE, stride: digit.stride.into(), size: digit.size.into() })
            .collect();
        let count = members.iter().map(|digit| digit.size).product();
        Ok(Group { members, count })
    }

    fn positions(&self, groups: &ReplicaGroups) -> ReplicaGroups {
        if self.devices.ids.is_empty() {
            return groups.clone();
        }
        let mut position = vec![-1; self.devices.ids.len()];
        for (at, &id) in self.devices.ids.iter().enumerate() {
            if let Some(entry) = usize::try_from(id).ok().and_then(|id| position.get_mut(id)) {
                *entry = at as i64;
            }
        }
        groups.map(|id| usize::try_from(id).ok().and_then(|id| position.get(id)).copied().unwrap_or(-1))
    }

    /// The number of the device, in which each digit of `members` is replaced by the digit that `place` gives for its index and its stride
    /// among the members.
    fn device(&self, group: &Group, place: impl Fn(usize, u64) -> Digit) -> Digits {
        // The stride of each member digit in the index in the group.
        let mut stride = group.count;
        let mut parts: Vec<(Digit, Digit)> = Vec::new();
        for (at, &digit) in group.members.iter().enumerate() {
            stride /= digit.size;
            parts.push((digit, place(at, stride)));
        }
        parts.sort_by_key(|(digit, _)| digit.stride);
        let mut numbers: Vec<Digit> = Vec::new();
        let mut low = 1;
        for (digit, new) in parts {
            numbers.push(Digit { slot: DEVICE, stride: low, size: digit.stride / low });
            numbers.push(new);
            low = digit.end();
        }
        numbers.push(Digit { slot: DEVICE, stride: low, size: self.devices.count / low });
        let mut number = Digits::new();
        numbers.iter().rev().for_each(|&digit| push(&mut number, digit));
        number
    }

    /// A local dimension whose major part is the index in the group.
    fn blocks(group: &Group, dim: u32, size: u64) -> Digits {
        let mut number = Digits::new();
        group.members.iter().for_each(|&digit| push(&mut number, digit));
        push(&mut number, Digit::all(dim, size / group.count));
        number
    }

    /// Reduces over the members of each group.
    fn reduced(&mut self, op: OpId, at: usize, group: &Group) -> Result<View, Stop> {
        let module = self.module;
        let data = &module.ops[op];
        let kind = self.kind(data.results[at]);
        let reduction = data
            .regions
            .first()
            .and_then(|&region| {
                reducer::reduction_of(module, region, 1)
                    .or_else(|| reducer::reduction_of(module, region, data.results.len()))
            })
            .and_then(|reduction| join_of(kind, reduction));
        let Some(join) = reduction else { return Stop::rule("an unknown reduction") };
        let view = self.value(data.operands[at])?;
        let slot = self.terms.fresh();
        let device = self.device(group, |at, stride| Digit { slot, stride, size: group.members[at].size });
        let moved = view.moved(|old| (old == DEVICE).then_some(&device[..])).or_stop()?;
        self.terms.reduce(join, kind, &moved, &[(slot, group.count)]).or_stop()
    }

    pub(super) fn collective(&mut self, op: OpId) -> Result<Vec<View>, Stop> {
        let module = self.module;
        let data = &module.ops[op];
        let mut results = Vec::new();
        for at in 0..data.results.len() {
            let size = |dim: u32| self.sizes(data.operands[at]).get(dim as usize).copied().unwrap_or(1);
            let view = match &data.kind {
                OpKind::AllReduce(spec) => {
                    let group = self.group(spec, true)?;
                    self.reduced(op, at, &group)?
                }
                OpKind::ReduceScatter { dim, spec } => {
                    let group = self.group(spec, true)?;
                    let place = Self::blocks(&group, *dim, size(*dim));
                    let view = self.reduced(op, at, &group)?;
                    view.moved(|old| (old == *dim).then_some(&place[..])).or_stop()?
                }
                OpKind::AllGather { dim, spec } => {
                    let group = self.group(spec, true)?;
                    let local = size(*dim);
                    let device = self.device(&group, |at, stride| Digit {
                        slot: *dim,
                        stride: stride * local,
                        size: group.members[at].size,
                    });
                    let view = self.value(data.operands[at])?;
                    view.moved(|old| (old == DEVICE).then_some(&device[..])).or_stop()?
                }
                OpKind::AllToAll { split_dim, concat_dim, spec, .. } => {
                    let group = self.group(spec, false)?;
                    // If both are the same dimension, its local part is a block.
                    let mut block = size(*concat_dim);
                    if split_dim == concat_dim {
                        block /= group.count;
                    }
                    let device = self.device(&group, |at, stride| Digit {
                        slot: *concat_dim,
                        stride: stride * block,
                        size: group.members[at].size,
                    });
                    let split = Self::blocks(&group, *split_dim, size(*split_dim));
                    let view = self.value(data.operands[at])?;
                    let place = |old: u32| match old {
                        DEVICE => Some(&device[..]),
                        _ if old == *split_dim => Some(&split[..]),
                        _ => None,
                    };
                    view.moved(place).or_stop()?
                }
                OpKind::CollectivePermute(spec) => self.permuted(op, at, spec)?,
                _ => return Stop::rule("no rule for this collective"),
            };
            results.push(view);
        }
        Ok(results)
    }

    /// The source of each device in a permute; -1 if it receives zeros.
    fn sources(&self, spec: &CollectiveSpec) -> Option<Vec<i64>> {
        let mut sources = vec![-1i64; self.devices.count as usize];
        for pair in self.positions(&spec.groups).iter() {
            let (source, target) = pair.pair()?;
            *sources.get_mut(usize::try_from(target).ok()?)? = source;
        }
        sources.iter().all(|&source| source < self.devices.count as i64).then_some(sources)
    }

    /// The source of a device in a permute, if it has one. `None` if the pairs do not list devices.
    pub(super) fn source(&self, spec: &CollectiveSpec, device: u64) -> Option<Option<u64>> {
        if !self.lists_devices(spec, false) {
            return None;
        }
        let sources = self.sources(spec)?;
        Some(u64::try_from(*sources.get(device as usize)?).ok())
    }

    fn permuted(&mut self, op: OpId, at: usize, spec: &CollectiveSpec) -> Result<View, Stop> {
        let view = self.value(self.module.ops[op].operands[at])?;
        if !self.lists_devices(spec, false) {
            return Stop::rule("pairs that do not list the devices of this mode");
        }
        let Some(sources) = self.sources(spec) else { return Stop::rule("pairs with an unknown device") };
        // The source as a function of the target.
        let linear = Linear::fit(&sources, DEVICE).and_then(|linear| linear.merged());
        if let Some(number) = linear.as_ref().and_then(|linear| permutation(linear, self.devices.count))
            && let Some(view) = view.moved(|old| (old == DEVICE).then_some(&number[..]))
        {
            return Ok(view);
        }
        if !view.uses(DEVICE) && sources.iter().all(|&source| source >= 0) {
            return Ok(view);
        }
        let mut own = Digits::new();
        push(&mut own, Digit::all(CORE, self.devices.count));
        let moved = view.moved(|old| (old == DEVICE).then_some(&own[..])).or_stop()?;
        let mut added = Digits::new();
        push(&mut added, Digit::all(DEVICE, self.devices.count));
        let kind: Kind = self.terms.kind(&moved);
        self.terms
            .build(Op::Core(format!("permute {sources:?}").into()), kind, &[moved], &[], &[added])
            .or_stop()
    }
}

/// The digits of the source of a permutation of digits, from major to minor.
fn permutation(linear: &Linear, count: u64) -> Option<Digits> {
    if linear.base != 0 {
        return None;
    }
    let mut parts = linear.parts.clone();
    parts.sort_by_key(|&(coef, _)| coef);
    let (mut stride, mut digits) = (1u64, Vec::new());
    for (coef, digit) in parts {
        if u64::try_from(coef).ok()? != stride {
            return None;
        }
        digits.push(digit);
        stride *= digit.size;
    }
    let mut number = Digits::new();
    digits.iter().rev().for_each(|&digit| push(&mut number, digit));
    (stride == count).then_some(number)
}
