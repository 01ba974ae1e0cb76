//! What a partitioned program sends.

use std::collections::BTreeMap;

use shardc_ir::{Group, Module, OpId, OpKind, RegionId, ValueId};

use crate::analysis::trip_count::trips;

/// The collectives of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CollectiveSummary {
    /// Name without dialect: `all_gather`.
    pub kind: String,
    /// How many stand in the program; one in a loop counts once.
    pub count: usize,
    /// How many of them stand in loops.
    pub in_loops: usize,
    /// Bytes that one device sends over a ring when each runs once.
    pub bytes_sent: u64,
    /// How often they run in one run of the program, a loop as often as its text says, or else a few times.
    pub runs: u64,
    /// Bytes that one device sends over a ring in one run of the program.
    pub bytes_in_run: u64,
}

/// The collectives of a partitioned program, by kind.
#[must_use]
pub fn summarize(module: &Module) -> Vec<CollectiveSummary> {
    let mut kinds: BTreeMap<&str, CollectiveSummary> = BTreeMap::new();
    for body in module.bodies() {
        visit(module, body, None, &mut kinds);
    }
    kinds.into_values().collect()
}

/// Bytes that one device sends over a ring when a collective runs once; `None` for other operations.
#[must_use]
pub fn bytes_sent(module: &Module, op: OpId) -> Option<u64> {
    let data = &module.ops[op];
    let spec = data.kind.collective()?;
    let bytes = |values: &[ValueId]| {
        values.iter().filter_map(|&v| module.stored(v)?.num_bytes()).fold(0.0, |sum, n| sum + n as f64)
    };
    let (operand, result) = (bytes(&data.operands), bytes(&data.results));
    let k = spec.groups.first().map_or(1, Group::len).max(1) as f64;
    let share = (k - 1.0) / k;
    let sent = match &data.kind {
        OpKind::AllGather { .. } => result * share,
        OpKind::ReduceScatter { .. } | OpKind::AllToAll { .. } => operand * share,
        OpKind::AllReduce(_) => 2.0 * operand * share,
        _ => operand,
    };
    Some(sent as u64)
}

fn visit<'m>(
    module: &'m Module,
    region: RegionId,
    trips_around: Option<u64>,
    kinds: &mut BTreeMap<&'m str, CollectiveSummary>,
) {
    for &op in &module.regions[region].ops {
        let data = &module.ops[op];
        if let Some(sent) = bytes_sent(module, op) {
            let name = data.kind.name().trim_start_matches("stablehlo.");
            let entry = kinds.entry(name).or_default();
            entry.kind = name.to_owned();
            entry.count += 1;
            let runs = trips_around.unwrap_or(1);
            entry.in_loops += usize::from(trips_around.is_some());
            entry.bytes_sent += sent;
            entry.runs = entry.runs.saturating_add(runs);
            entry.bytes_in_run = entry.bytes_in_run.saturating_add(sent.saturating_mul(runs));
        }
        let inside = match data.kind {
            OpKind::While => Some(trips_around.unwrap_or(1).saturating_mul(trips(module, op))),
            _ => trips_around,
        };
        for &inner in &data.regions {
            visit(module, inner, inside, kinds);
        }
    }
}
