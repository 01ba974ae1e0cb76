//! The time of collectives on the links of a target.

use rustc_hash::FxHashMap;
use shardc_ir::{Module, OpId, OpKind, ReplicaGroups, ValueId};
use shardc_target::{Group, Target, Traffic};

/// A collective: its kind, and its bytes as [`Traffic`] counts them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub(super) traffic: Traffic,
    bytes: f64,
}

impl Sent {
    /// Returns the kind and the bytes of a collective; `None` for other operations.
    pub(super) fn of(module: &Module, op: OpId) -> Option<Sent> {
        let data = &module.ops[op];
        data.collective_spec()?;
        let bytes = |values: &[ValueId]| -> f64 {
            let sizes = values.iter().filter_map(|&v| module.stored(v)?.num_bytes());
            sizes.map(|n| n as f64).sum()
        };
        let (traffic, bytes) = match &data.kind {
            OpKind::AllGather { .. } => (Traffic::AllGather, bytes(&data.results)),
            OpKind::ReduceScatter { .. } => (Traffic::ReduceScatter, bytes(&data.operands)),
            OpKind::AllReduce(_) => (Traffic::AllReduce, bytes(&data.operands)),
            OpKind::CollectivePermute(_) => (Traffic::Permute, bytes(&data.operands)),
            // The rows of a ragged all-to-all are its first operand.
            OpKind::CustomCall(_) => (Traffic::AllToAll, data.operands.first().map_or(0.0, |&v| bytes(&[v]))),
            OpKind::CollectiveBroadcast(_) => (Traffic::AllGather, bytes(&data.operands)),
            _ => (Traffic::AllToAll, bytes(&data.operands)),
        };
        Some(Sent { traffic, bytes })
    }
}

/// Returns the kind and the bytes of a collective, as [`Traffic`] counts them; `None` for other operations.
#[must_use]
pub fn collective_traffic(module: &Module, op: OpId) -> Option<(Traffic, f64)> {
    Sent::of(module, op).map(|sent| (sent.traffic, sent.bytes))
}

/// The links of the replica groups of a program; equal groups are analyzed once.
pub(super) struct Links<'t> {
    pub(super) target: &'t Target,
    /// The device number of each id in replica groups, if it is not the id.
    order: Option<&'t [i64]>,
    groups: FxHashMap<(ReplicaGroups, bool), Group>,
}

impl<'t> Links<'t> {
    pub(super) fn new(target: &'t Target, order: Option<&'t [i64]>) -> Links<'t> {
        Links { target, order, groups: FxHashMap::default() }
    }

    /// Returns the seconds of one execution of a collective. The first group stands for all: groups along mesh axes are congruent.
    pub(super) fn seconds(&mut self, module: &Module, op: OpId, sent: Sent) -> f64 {
        let Some(spec) = module.ops[op].collective_spec() else { return 0.0 };
        let (target, order) = (self.target, self.order);
        let device = |id: i64| {
            let index = usize::try_from(id).ok()?;
            u64::try_from(order.map_or(Some(id), |order| order.get(index).copied())?).ok()
        };
        let is_permute = sent.traffic == Traffic::Permute;
        let group = self.groups.entry((spec.groups.clone(), is_permute)).or_insert_with(|| {
            if is_permute {
                let pairs = spec.groups.iter().filter_map(|pair| {
                    let mut ids = pair.iter().filter_map(device);
                    Some((ids.next()?, ids.next()?))
                });
                Group::of_pairs(target, &pairs.collect::<Vec<_>>())
            } else {
                let members = spec.groups.first().into_iter().flat_map(|group| group.iter());
                Group::of(target, members.filter_map(device))
            }
        });
        group.seconds(sent.traffic, sent.bytes)
    }
}
