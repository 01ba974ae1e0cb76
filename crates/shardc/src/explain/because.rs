//! The reasons why an operation needs communication, and the bytes that each conflict causes.

use std::collections::HashMap;

use indexmap::IndexSet;
use shardc_ir::{Mesh, OpId, OpKind};
use shardc_passes::report::byte_size::bytes_text;

use super::Explainer;
use super::conflicts::conflict_text;
use super::report::CollectiveReport;

/// The reasons why an operation needs communication, each with the mesh axis that it concerns.
pub(super) struct Because {
    /// Sums over a sharded dimension.
    pub(super) sums: Vec<(String, String)>,
    conflicts: Vec<(String, String)>,
    /// The axes and indices of the conflicts.
    indices: Vec<(String, usize)>,
    otherwise: String,
}

/// The kind of the reasons that apply to a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Applies {
    Sums,
    Conflicts,
    /// The operands are resharded, so that the operation needs no reduction.
    Traded,
    Otherwise,
}

fn is_along(collective: &CollectiveReport, axis: &str) -> bool {
    collective.axes.iter().any(|a| axis.split(':').next() == Some(a))
}

impl Because {
    fn applies(&self, collective: &CollectiveReport) -> Applies {
        let has = |list: &[(String, String)]| list.iter().any(|(axis, _)| is_along(collective, axis));
        match collective.reduces() {
            true if !self.sums.is_empty() => Applies::Sums,
            _ if has(&self.conflicts) => Applies::Conflicts,
            false if has(&self.sums) => Applies::Traded,
            _ => Applies::Otherwise,
        }
    }

    /// The reasons that apply to a collective: an all-reduce or reduce-scatter adds partial sums, other collectives resolve a conflict or
    /// replace such a sum. `traded` returns the figures of the replacement for an axis.
    fn of(&self, collective: &CollectiveReport, traded: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let about = |list: &[(String, String)]| -> Vec<String> {
            let about = list.iter().filter(|(axis, _)| is_along(collective, axis));
            about.map(|(_, text)| text.clone()).collect()
        };
        match self.applies(collective) {
            Applies::Sums if about(&self.sums).is_empty() => {
                self.sums.iter().map(|(_, text)| text.clone()).collect()
            }
            Applies::Sums => about(&self.sums),
            Applies::Conflicts => about(&self.conflicts),
            Applies::Traded => {
                let sums = self.sums.iter().filter(|(axis, _)| is_along(collective, axis));
                let axes: IndexSet<&str> = sums.map(|(axis, _)| axis.as_str()).collect();
                let figures = axes.into_iter().filter_map(traded);
                about(&self.sums).into_iter().chain(figures).collect()
            }
            Applies::Otherwise => vec![self.otherwise.clone()],
        }
    }
}

/// The collectives that operations of the entry function need, and the bytes that they send.
#[derive(Default)]
pub(super) struct Needs {
    known: HashMap<OpId, Because>,
    /// The bytes that other collectives than reductions send for an operation along an axis, each executed once.
    resharded: HashMap<(OpId, String), u64>,
    /// The bytes that are sent in one execution of the program because of each conflict, by index.
    pub(super) of_conflicts: HashMap<usize, u64>,
}

impl Needs {
    /// Adds a collective and the operations that need it, to which its bytes are assigned in equal shares.
    pub(super) fn add(&mut self, explainer: &Explainer<'_>, collective: &CollectiveReport, ops: &[OpId]) {
        let share = |bytes: u64, among: usize| bytes / among.max(1) as u64;
        for &op in ops {
            let because = self.known.entry(op).or_insert_with(|| explainer.because(op));
            if !collective.reduces() {
                for axis in &collective.axes {
                    let sent = share(share(collective.bytes, ops.len()), collective.axes.len());
                    *self.resharded.entry((op, axis.clone())).or_default() += sent;
                }
            }
            if because.applies(collective) == Applies::Conflicts {
                let causes = because.indices.iter().filter(|(axis, _)| is_along(collective, axis));
                let causes: Vec<usize> = causes.map(|&(_, i)| i).collect();
                let sent = share(share(collective.bytes_in_run(), ops.len()), causes.len());
                for i in causes {
                    *self.of_conflicts.entry(i).or_default() += sent;
                }
            }
        }
    }

    /// The reasons why an operation needs a collective, both of which were added.
    pub(super) fn because(
        &self,
        explainer: &Explainer<'_>,
        collective: &CollectiveReport,
        op: OpId,
    ) -> Vec<String> {
        let traded = |axis: &str| {
            let sent = self.resharded.get(&(op, axis.split(':').next()?.to_owned())).copied()?;
            let reduced = explainer.sent_to_reduce(op, axis)?;
            (sent < reduced).then(|| {
                format!(
                    "operands are resharded along \"{axis}\", because a device then sends {} instead of {} for the sum",
                    bytes_text(sent),
                    bytes_text(reduced)
                )
            })
        };
        self.known.get(&op).map(|because| because.of(collective, traded)).unwrap_or_default()
    }
}

impl Explainer<'_> {
    /// Returns the reasons why an operation needs communication.
    fn because(&self, op: OpId) -> Because {
        let data = &self.module.ops[op];
        let at = if matches!(data.kind, OpKind::Return) { None } else { Some(op) };
        let of_op: Vec<_> = self
            .provenance
            .conflicts()
            .iter()
            .enumerate()
            .filter(|(_, conflict)| conflict.op == at)
            .collect();
        let indices = of_op.iter().map(|&(i, conflict)| {
            let sharding = self.sharding(conflict.has.0);
            (sharding.map_or_else(String::new, |s| self.axis(s, conflict.axis)), i)
        });
        let grouped = self.conflicts(of_op.iter().map(|&(i, conflict)| (i, conflict)), None);
        let mut sums = self.split_sums(op);
        if sums.is_empty() {
            sums = self.sums_before(op);
        }
        Because {
            sums,
            indices: indices.collect(),
            conflicts: grouped.iter().map(|c| (c.axis.clone(), conflict_text(c))).collect(),
            otherwise: self.other_reason(op),
        }
    }

    /// The bytes that a device would send to reduce the result of an operation along an axis: by an all-reduce, or by a reduce-scatter if the
    /// axis shards the result.
    fn sent_to_reduce(&self, op: OpId, axis: &str) -> Option<u64> {
        let &result = self.module.ops[op].results.first()?;
        let sharding = self.module.shardings.sharding_of(result)?;
        let mesh: &Mesh = &self.module.meshes[sharding.mesh];
        let devices = u64::try_from(*mesh.axes.get(axis)?).ok().filter(|&devices| devices > 0)?;
        let shards: i64 = sharding.split_axes().map(|axis| mesh.axis_size(axis)).product();
        let all = self.module.stored(result)?.num_bytes()?.unsigned_abs();
        let local = all / shards.unsigned_abs().max(1);
        let is_scattered = sharding.split_axes().any(|own| mesh.axis_name(own) == axis);
        Some(if is_scattered { local * (devices - 1) } else { 2 * (local * (devices - 1) / devices) })
    }
}
