//! What a partitioned program sends.

use std::collections::BTreeMap;

use shardc_ir::{Module, OpKind, RegionId};

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
    /// How many of those bytes are sent in loops.
    pub bytes_sent_in_loops: u64,
}

/// The collectives of a partitioned program, by kind.
#[must_use]
pub fn summarize(module: &Module) -> Vec<CollectiveSummary> {
    let mut kinds: BTreeMap<&str, CollectiveSummary> = BTreeMap::new();
    for body in module.bodies() {
        visit(module, body, false, &mut kinds);
    }
    kinds.into_values().collect()
}

fn visit<'m>(
    module: &'m Module,
    region: RegionId,
    in_loop: bool,
    kinds: &mut BTreeMap<&'m str, CollectiveSummary>,
) {
    for &op in &module.regions[region].ops {
        let data = &module.ops[op];
        if let Some(spec) = data.kind.collective() {
            let name = data.kind.name().trim_start_matches("stablehlo.");
            let bytes = |v| module.tensor(v).and_then(|t| t.num_bytes()).unwrap_or(0) as f64;
            let (operand, result) = (bytes(data.operands[0]), bytes(data.results[0]));
            let k = spec.groups.first().map_or(1, Vec::len).max(1) as f64;
            let share = (k - 1.0) / k;
            let sent = match &data.kind {
                OpKind::AllGather { .. } => result * share,
                OpKind::ReduceScatter { .. } | OpKind::AllToAll { .. } => operand * share,
                OpKind::AllReduce(_) => 2.0 * operand * share,
                _ => operand,
            };
            let entry = kinds.entry(name).or_default();
            entry.kind = name.to_owned();
            entry.count += 1;
            entry.in_loops += usize::from(in_loop);
            entry.bytes_sent += sent as u64;
            entry.bytes_sent_in_loops += if in_loop { sent as u64 } else { 0 };
        }
        let in_loop = in_loop || matches!(data.kind, OpKind::While);
        for &inner in &data.regions {
            visit(module, inner, in_loop, kinds);
        }
    }
}
