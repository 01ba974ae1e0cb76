//! The rules of the memory model: what a compiler does to a program that changes the memory that it needs.
//!
//! Each rule belongs to one stage of the model, and can be disabled on its own ([`RuleSet`]). `cargo xtask bench --only memory --ablation`
//! prints the error of the estimate without each rule.

use std::fmt;
use std::str::FromStr;

use super::machine::Machine;

/// A stage of the memory model, in the order in which they run on a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Which operations are fused into their users, and which write their results to memory.
    Materialize,
    /// The order in which the operations run.
    Schedule,
    /// The bytes of each value in memory, tiles and padding included.
    Layout,
    /// The live range of each buffer, and the values that share it.
    Buffers,
    /// The size of the heap that holds the buffers.
    Allocate,
}

impl Stage {
    /// All stages.
    pub const ALL: [Stage; 5] =
        [Stage::Materialize, Stage::Schedule, Stage::Layout, Stage::Buffers, Stage::Allocate];

    /// Returns the name of the stage.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Stage::Materialize => "materialize",
            Stage::Schedule => "schedule",
            Stage::Layout => "layout",
            Stage::Buffers => "buffers",
            Stage::Allocate => "allocate",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Stage {
    type Err = String;

    fn from_str(name: &str) -> Result<Stage, String> {
        Stage::ALL.into_iter().find(|stage| stage.as_str() == name).ok_or_else(|| {
            format!("unknown stage '{name}': use {}", Stage::ALL.map(Stage::as_str).join(", "))
        })
    }
}

/// A rule of the memory model. [`RULES`] describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "`RULES` describes them")]
pub enum Rule {
    MatmulFusion,
    RowReductions,
    Recompute,
    SharedQuotients,
    StridedSlices,
    EarlyResults,
    EarlyFrees,
    EarlyReductions,
    NarrowOperands,
    ConvolutionTiles,
    RowTiles,
    StackLayouts,
    InPlace,
    EarlyGathers,
    LateLookups,
    ScatterSums,
    MultiOutput,
    ResultLayouts,
    Fragmentation,
    FastMemory,
}

/// The description of a rule.
#[derive(Clone, Copy, Debug)]
pub struct RuleInfo {
    /// The rule.
    pub rule: Rule,
    /// The name of the rule on the command line.
    pub id: &'static str,
    /// The stage that the rule belongs to.
    pub stage: Stage,
    /// When the rule applies, and its effect.
    pub about: &'static str,
    /// The code of XLA that does this, or the measurement that shows it.
    pub source: &'static str,
}

const fn rule(
    rule: Rule,
    id: &'static str,
    stage: Stage,
    about: &'static str,
    source: &'static str,
) -> RuleInfo {
    RuleInfo { rule, id, stage, about, source }
}

const MEASURED: &str = "buffer assignments of libtpu 0.0.51";

/// All rules, in the order of [`Rule`].
pub const RULES: &[RuleInfo] = &[
    rule(
        Rule::MatmulFusion,
        "matmul-fusion",
        Stage::Materialize,
        "a matmul and its only user are one operation if the user is element-wise (not on a GPU)",
        "XLA output fusion; buffer assignments of libtpu 0.0.51",
    ),
    rule(
        Rule::RowReductions,
        "row-reductions",
        Stage::Materialize,
        "a matmul whose rows are reduced is computed together with the reduction, and its result is in memory",
        MEASURED,
    ),
    rule(
        Rule::Recompute,
        "recompute",
        Stage::Materialize,
        "an element-wise operation with several users is computed in each of them if this moves fewer bytes",
        "XLA InstructionFusion, FusionNodeIndexing",
    ),
    rule(
        Rule::SharedQuotients,
        "shared-quotients",
        Stage::Materialize,
        "a quotient that several matmuls read is in memory (v5p)",
        MEASURED,
    ),
    rule(
        Rule::StridedSlices,
        "strided-slices",
        Stage::Materialize,
        "strided slices and interior padding are not fused (TPU)",
        MEASURED,
    ),
    rule(
        Rule::EarlyResults,
        "early-results",
        Stage::Schedule,
        "operations that only produce results of the function run as soon as their operands are computed",
        "XLA ListScheduler: an instruction that frees more than it defines has priority",
    ),
    rule(
        Rule::EarlyFrees,
        "early-frees",
        Stage::Schedule,
        "operations that free more than they allocate, and are far after their operands, run as soon as possible",
        "XLA ListScheduler: an instruction that frees more than it defines has priority",
    ),
    rule(
        Rule::EarlyReductions,
        "early-reductions",
        Stage::Schedule,
        "reductions to tiny results run as soon as possible (TPU)",
        "XLA ListScheduler: an instruction that frees more than it defines has priority",
    ),
    rule(
        Rule::NarrowOperands,
        "narrow-operands",
        Stage::Layout,
        "32-bit values that only matmuls read are stored with 16 bits (TPU)",
        "XLA BFloat16Propagation; a TPU multiplies 16-bit operands",
    ),
    rule(
        Rule::ConvolutionTiles,
        "convolution-tiles",
        Stage::Layout,
        "operands of convolutions are tiled along features and batch (TPU)",
        MEASURED,
    ),
    rule(
        Rule::RowTiles,
        "row-tiles",
        Stage::Layout,
        "rows of gathers and scatters are along the lanes (TPU)",
        MEASURED,
    ),
    rule(
        Rule::StackLayouts,
        "stack-layouts",
        Stage::Layout,
        "stacked weights in another layout or type than loops read are copied before the loops (TPU)",
        "XLA LayoutAssignment, BFloat16Propagation, WhileLoopInvariantCodeMotion",
    ),
    rule(
        Rule::InPlace,
        "in-place",
        Stage::Buffers,
        "element-wise operations, slices and updates overwrite an operand of equal size at its last use",
        "XLA HloDataflowAnalysis::CanShareOperandBufferWithUser",
    ),
    rule(
        Rule::EarlyGathers,
        "early-gathers",
        Stage::Buffers,
        "the memory of an all-gather is allocated at the matmul before it, beside which it runs (TPU)",
        "XLA LatencyHidingScheduler; buffer assignments of libtpu 0.0.51",
    ),
    rule(
        Rule::LateLookups,
        "late-lookups",
        Stage::Buffers,
        "a lookup of one element per row is asynchronous, and converts its table with the last read of the original (v5p)",
        MEASURED,
    ),
    rule(
        Rule::ScatterSums,
        "scatter-sums",
        Stage::Buffers,
        "in a sum of scatters to zeros, all rows are computed first, then the tables are added one by one (TPU)",
        "libtpu 0.0.51, buffer assignment of a hash-grid NeRF with 128 lookups",
    ),
    rule(
        Rule::MultiOutput,
        "multi-output",
        Stage::Buffers,
        "a value that is computed together with a reduction of it is not overwritten (TPU)",
        "XLA HeapSimulator: only a sole result of its producer is reused",
    ),
    rule(
        Rule::ResultLayouts,
        "result-layouts",
        Stage::Buffers,
        "results of matmuls that are not computed in row-major layout are copied (TPU)",
        "XLA LayoutAssignment",
    ),
    rule(
        Rule::Fragmentation,
        "fragmentation",
        Stage::Allocate,
        "the heap loses half as much between buffers as a first fit in execution order",
        "XLA HeapSimulator; the heaps of libtpu 0.0.51 are first fits of its buffers",
    ),
    rule(
        Rule::FastMemory,
        "fast-memory",
        Stage::Allocate,
        "if all temporaries fit in VMEM, HBM holds only tuple index tables (TPU)",
        "XLA MemorySpaceAssignment",
    ),
];

impl Rule {
    /// Returns the description of the rule.
    #[must_use]
    pub fn info(self) -> &'static RuleInfo {
        &RULES[self as usize]
    }
}

impl FromStr for Rule {
    type Err = String;

    fn from_str(id: &str) -> Result<Rule, String> {
        let found = RULES.iter().find(|info| info.id == id).map(|info| info.rule);
        found.ok_or_else(|| format!("unknown rule '{id}': `shardc memory FILE --list` lists the rules"))
    }
}

/// The enabled rules; by default all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleSet(u32);

impl Default for RuleSet {
    fn default() -> RuleSet {
        RuleSet(u32::MAX)
    }
}

impl RuleSet {
    /// Returns the set without a rule.
    #[must_use]
    pub fn without(self, rule: Rule) -> RuleSet {
        RuleSet(self.0 & !(1 << rule as u32))
    }

    /// Whether a rule is enabled.
    #[must_use]
    pub fn contains(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u32) != 0
    }
}

/// The settings of the memory model: a machine, and the enabled rules.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Model {
    /// The device whose memory is estimated.
    pub machine: Machine,
    /// The enabled rules.
    pub rules: RuleSet,
    /// How close decisions about recomputation end.
    pub(super) lean: Lean,
}

/// How a decision ends if recomputing a value and keeping it in memory cost about the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Lean {
    /// By the smaller cost.
    #[default]
    Cost,
    /// The value is kept.
    Keep,
    /// The value is recomputed.
    Recompute,
}

impl Lean {
    /// Whether a cost is below a limit. Leaning decisions move the limit by a quarter.
    pub(super) fn is_below(self, cost: u64, limit: u64) -> bool {
        match self {
            Lean::Cost => cost <= limit,
            Lean::Keep => cost <= limit - limit / 4,
            Lean::Recompute => cost <= limit.saturating_add(limit / 4),
        }
    }
}

impl From<Machine> for Model {
    fn from(machine: Machine) -> Model {
        Model { machine, ..Model::default() }
    }
}

impl Model {
    /// Creates a model with some of the rules.
    #[must_use]
    pub fn new(machine: Machine, rules: RuleSet) -> Model {
        Model { machine, rules, ..Model::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_has_one_description() {
        for (at, info) in RULES.iter().enumerate() {
            assert_eq!(info.rule as usize, at, "{}", info.id);
            assert_eq!(info.id.parse(), Ok(info.rule));
            assert_eq!(info.rule.info().id, info.id);
        }
        assert!(RULES.is_sorted_by_key(|info| info.stage), "rules are in the order of stages");
        assert!(RULES.len() <= 32);
    }

    #[test]
    fn rules_can_be_disabled() {
        let rules = RuleSet::default().without(Rule::FastMemory);
        assert!(rules.contains(Rule::InPlace));
        assert!(!rules.contains(Rule::FastMemory));
        assert!("no-such-rule".parse::<Rule>().is_err());
        assert!("schedule".parse::<Stage>() == Ok(Stage::Schedule) && "fuse".parse::<Stage>().is_err());
    }
}
