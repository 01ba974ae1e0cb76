//! Options of passes, and the state that is passed between them.

use std::sync::Arc;

use shardc_ir::{Diagnostic, Interrupt, MeshId, Module, SpmdMode};

use super::calls::KeptFunctions;
use super::pass_options::PassOptions;
use super::repeated::Propagated;
use super::strategy::Priorities;
use crate::annotations::dims::DimSize;
use crate::annotations::spec::{Annotation, MeshSpec};
use crate::collectives::clean::{CleanOptions, CleanReport};
use crate::cost::CostModel;
use crate::plan::{Plan, Planning, Requests};
use crate::propagate::{Prepared, PropagateOptions, PropagateReport};
use crate::rules::registry::RuleRegistry;
use crate::sharding::interface::Interface;
use crate::sharding::signature::Signatures;
use crate::transforms::group_form::GroupForm;
use crate::transforms::inline::CallSites;

/// The input of a pass in addition to the module.
#[derive(Clone, Debug, Default)]
pub struct PassContext {
    /// Whether devices of the partitioned program are partitions or replicas.
    pub mode: SpmdMode,
    /// The values of [`Pass::options`](super::passes::Pass::options) for this run.
    pub options: PassOptions,
    /// Options of the clean-up of collectives.
    pub clean: CleanOptions,
    /// The rates of the machine, by which planning compares alternatives.
    pub costs: CostModel,
    /// How the partitioned program writes replica groups.
    pub groups: GroupForm,
    /// Information about the program that is not in its text.
    pub import: ImportOptions,
    /// How shardings are propagated.
    pub propagate: PropagateOptions,
    /// Whether all-gathers that no annotation requests are errors.
    pub strict: bool,
    /// The threshold for warnings about all-gathers in bytes; `None` derives it from the bytes that the program sends.
    pub warn_bytes: Option<u64>,
    /// The interrupt that may end the run early. It is checked between passes, and within propagation and planning.
    pub interrupt: Interrupt,
    /// Whether a complete pipeline runs, so that each pass may rely on earlier ones.
    pub(crate) in_pipeline: bool,
    pub(crate) pass_data: PassData,
}

/// The result of a pass: warnings, or errors.
pub type PassResult = Result<Vec<Diagnostic>, Vec<Diagnostic>>;

/// Information about a program that is not in its text.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Sizes of symbolic dimensions.
    pub dims: Vec<DimSize>,
    /// The mesh to use. It replaces the mesh of the program, if there is one.
    pub mesh: Option<MeshSpec>,
    /// Shardings of arguments and results.
    pub specs: Vec<Annotation>,
    /// Sharding rules of custom calls.
    pub rules: RuleRegistry,
    /// Whether to record the calls through which each operation was inlined ([`PassContext::call_sites`]).
    pub trace_calls: bool,
    /// The maximum number of operations that inlining all calls may produce in the entry function. In a larger program, a complete
    /// pipeline partitions frequently called functions separately. The default is [`INLINE_BUDGET`](shardc_ir::limits::INLINE_BUDGET).
    pub inline_budget: Option<u64>,
}

/// Results of passes that are not part of the module. A pass that runs outside of a pipeline recomputes them if possible.
#[derive(Clone, Debug, Default)]
pub(crate) struct PassData {
    /// Warnings of `import-gspmd`.
    pub(crate) imported: Vec<Diagnostic>,
    /// Whether the program was annotated with GSPMD shardings (`mhlo.sharding`).
    pub(crate) is_gspmd: bool,
    pub(crate) sites: Option<CallSites>,
    /// The functions that are partitioned separately instead of being inlined.
    pub(crate) kept: KeptFunctions,
    /// The signatures (argument and result shardings) of calls of the functions in `kept`, in the planned program.
    pub(crate) signatures: Signatures,
    /// State that an attempt (the partitioning under one strategy) leaves for the next attempt.
    pub(crate) shared: Shared,
    pub(crate) propagated: PropagateReport,
    /// Properties of the annotated program, recorded before planning.
    pub(crate) before: Option<BeforePlan>,
    /// Data that the passes of planning pass on to each other.
    pub(crate) planning: Planning,
    pub(crate) plan: Option<Plan>,
    /// The mesh of the shardings inside the planned program.
    pub(crate) mesh: Option<MeshId>,
    /// Warnings about values that are replicated although no annotation requests it.
    pub(crate) gathered: Vec<Diagnostic>,
    /// Warnings of planning that are not in `gathered`.
    pub(crate) notes: Vec<Diagnostic>,
    pub(crate) interface: Option<Interface>,
    pub(crate) cleaned: CleanReport,
}

/// State that is independent of the propagation strategy: the first attempt to partition the program computes it for later attempts, which
/// use other strategies.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    /// Whether another attempt follows, so that `begun` must be recorded for it.
    pub(crate) is_wanted: bool,
    /// A copy of the prepared module before propagation; the next attempt starts from it.
    pub(crate) begun: Option<(Box<Module>, Arc<Prepared>)>,
    /// The annotation priorities that `prioritize` sets, computed before preparation.
    pub(crate) priorities: Option<Priorities>,
    /// The propagation result of the previous attempt on the same prepared module.
    pub(crate) propagated: Option<Propagated>,
    /// Whether this attempt propagated the same shardings as the previous one, so that its remaining passes can be skipped.
    pub(crate) is_repeated: bool,
}

/// Properties of the propagated program that are no longer visible in the module after planning.
#[derive(Clone, Debug)]
pub(crate) struct BeforePlan {
    pub(crate) requested: Requests,
    /// Errors about collectives of the input program that devices may execute a different number of times.
    pub(crate) partings: Vec<Diagnostic>,
    /// For each parameter, the index of the result that it is donated to; `None` if it is not donated.
    pub(crate) aliases: Vec<Option<usize>>,
}

impl PassContext {
    /// Returns the context for a pass that runs outside of a pipeline.
    #[must_use]
    pub fn new(mode: SpmdMode, options: PassOptions) -> Self {
        PassContext { mode, options, ..PassContext::default() }
    }

    /// Returns the report of propagation.
    #[must_use]
    pub fn propagated(&self) -> &PropagateReport {
        &self.pass_data.propagated
    }

    /// Returns the calls through which operations were inlined, if [`ImportOptions::trace_calls`] is set.
    #[must_use]
    pub fn call_sites(&self) -> Option<&CallSites> {
        self.pass_data.sites.as_ref()
    }

    /// Returns the functions whose calls `inline` did not inline; [`partition`](super::partition::partition) partitions them separately.
    #[must_use]
    pub fn kept_functions(&self) -> &KeptFunctions {
        &self.pass_data.kept
    }

    /// Returns the context with `kept`, the functions whose calls `inline` did not inline.
    #[must_use]
    pub fn with_kept_functions(mut self, kept: KeptFunctions) -> Self {
        self.pass_data.kept = kept;
        self
    }

    /// Returns the warnings of the import.
    #[must_use]
    pub fn import_warnings(&self) -> &[Diagnostic] {
        &self.pass_data.imported
    }
}
