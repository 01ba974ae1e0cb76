//! `canonicalize`: MLIR's canonicalizer with the patterns of Shardy's operations.
//!
//! Each `stablehlo.constant` is first moved to the front and deduplicated. Then rounds of patterns run to a fixed point. A round visits
//! each operation once, in program order, and then removes dead operations without side effects. The patterns:
//!
//! * no-op collectives are removed; pairs of collectives cancel, or are fused (all-reduce and all-slice to reduce-scatter);
//! * if the only user of a reshard is another reshard, the second one reads the operand of the first;
//! * a later reshard of the same data to an equal sharding reuses the result of the earlier reshard;
//! * a manual computation loses unused operands, and is inlined if its manual axes have size 1.

mod collectives;
mod constants;
mod dce;
mod manual;
mod reshards;
mod strides;

use rustc_hash::FxHashMap;
use shardc_ir::{
    EntityRef, Insertions, ManualSpec, MeshCollective, Module, OpId, OpKind, RegionId, SecondaryMap, Uses,
    ValueId, ValueMap,
};
use shardc_passes::driver::pass_options::PassOption;
use shardc_passes::internal::access::ShardingAccess;

/// The option that selects the patterns to apply.
pub(super) const PATTERNS: PassOption =
    PassOption { name: "enable-patterns", values: &["all", "sdy-reshard", "sdy-collective"] };

/// The patterns to apply, as the option [`PATTERNS`] selects them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Patterns {
    All,
    Reshards,
    Collectives,
}

impl Patterns {
    /// Converts a value of the option [`PATTERNS`].
    pub(super) fn of(value: &str) -> Self {
        match value {
            "sdy-reshard" => Patterns::Reshards,
            "sdy-collective" => Patterns::Collectives,
            _ => Patterns::All,
        }
    }
}

/// Brings every function into canonical form.
pub(super) fn canonicalize(module: &mut Module, patterns: Patterns) {
    for body in module.bodies().collect::<Vec<_>>() {
        constants::hoist(module, body);
        while round(module, body, patterns) {}
    }
}

/// One application of all rewrite patterns to a function body.
struct Round<'m> {
    module: &'m mut Module,
    places: ShardingAccess,
    /// The users of each value at the start of the round.
    uses: Uses,
    /// The current number of uses of each value, indexed by value.
    count: Vec<u32>,
    forward: ValueMap,
    insertions: Insertions,
    gone: SecondaryMap<OpId, bool>,
    /// Operations that this round created or changed: `uses` may be out of date for them.
    touched: SecondaryMap<OpId, bool>,
    /// The region of each reshard, and the index of the reshard in that region.
    position: FxHashMap<OpId, (RegionId, usize)>,
    changed: bool,
}

/// Applies the patterns to each operation once; returns whether anything changed.
fn round(module: &mut Module, body: RegionId, patterns: Patterns) -> bool {
    let ops = module.walk(body);
    let uses = module.uses();
    let mut count = vec![0u32; module.values.len()];
    for &v in ops.iter().flat_map(|&op| &module.ops[op].operands) {
        count[v.index()] += 1;
    }
    let places = ShardingAccess::new(module);
    let mut round = Round {
        module,
        places,
        uses,
        count,
        forward: ValueMap::new(),
        insertions: Insertions::default(),
        gone: SecondaryMap::new(),
        touched: SecondaryMap::new(),
        position: FxHashMap::default(),
        changed: false,
    };
    round.find_positions(body);
    for op in ops {
        round.forward.rewrite(&mut round.module.ops[op].operands);
        if round.gone[op] {
            continue;
        }
        match round.module.ops[op].kind.clone() {
            OpKind::MeshCollective(collective) if patterns != Patterns::Reshards => {
                round.collective(op, &collective);
            }
            OpKind::Reshard(_) if patterns != Patterns::Collectives => round.reshard(op, patterns),
            OpKind::ManualComputation(spec) if patterns == Patterns::All => round.manual(op, &spec),
            // A manual computation without operands and results names no mesh, so the parser keeps it as text.
            OpKind::Opaque(spec) if patterns == Patterns::All && &*spec.name == "sdy.manual_computation" => {
                round.manual(op, &ManualSpec::default());
            }
            _ => {}
        }
    }
    let Round { module, insertions, gone, changed, .. } = round;
    if changed {
        insertions.apply(module, body, &ValueMap::new(), |op| gone[op]);
    }
    let is_cleaned = dce::dce(module, body);
    changed || is_cleaned
}

impl Round<'_> {
    /// Returns the collective that produces a value, and its operation; `None` if another operation produces it.
    fn collective_of(&self, value: ValueId) -> Option<(OpId, Box<MeshCollective>)> {
        let op = self.module.def_op(value)?;
        match &self.module.ops[op].kind {
            OpKind::MeshCollective(collective) => Some((op, collective.clone())),
            _ => None,
        }
    }

    fn uses_of(&self, value: ValueId) -> u32 {
        self.count.get(value.index()).copied().unwrap_or(0)
    }

    /// Replaces the single result of `op` by `value`, and erases `op`.
    fn replace(&mut self, op: OpId, value: ValueId) {
        if let Some(&result) = self.module.ops[op].results.first() {
            self.forward.insert(result, value);
            let moved = std::mem::take(&mut self.count[result.index()]);
            self.add_uses(value, moved);
        }
        self.erase(op);
    }

    /// Erases `op`, and drops its uses of operands.
    fn erase(&mut self, op: OpId) {
        for v in self.module.ops[op].operands.clone() {
            let count = &mut self.count[v.index()];
            *count = count.saturating_sub(1);
        }
        self.gone[op] = true;
        self.changed = true;
    }

    /// Replaces the first operand of `op` by `value`.
    fn set_operand(&mut self, op: OpId, value: ValueId) {
        let before = self.module.ops[op].operands[0];
        self.count[before.index()] = self.uses_of(before).saturating_sub(1);
        self.add_uses(value, 1);
        self.module.ops[op].operands[0] = value;
        self.touched[op] = true;
        self.changed = true;
    }

    fn add_uses(&mut self, value: ValueId, n: u32) {
        if self.count.len() <= value.index() {
            self.count.resize(self.module.values.len(), 0);
        }
        self.count[value.index()] += n;
    }

    fn set_collective(&mut self, op: OpId, collective: MeshCollective) {
        self.module.ops[op].kind = OpKind::MeshCollective(Box::new(collective));
        self.touched[op] = true;
        self.changed = true;
    }
}
