//! What passes are told, and what they hand on to the passes after them.

use std::sync::Arc;

use shardc_ir::{Diagnostic, Interrupt, MeshId, Module, SpmdMode};

use super::calls::KeptFunctions;
use super::pass_options::PassOptions;
use super::repeated::Propagated;
use super::strategy::Priorities;
use crate::annotations::dims::DimSize;
use crate::annotations::spec::{Annotation, MeshSpec};
use crate::collectives::clean::{CleanOptions, CleanReport};
use crate::plan::{Asked, Plan, Planning};
use crate::propagate::{Prepared, PropagateOptions, PropagateReport};
use crate::rules::registry::RuleRegistry;
use crate::sharding::interface::Interface;
use crate::sharding::signature::Signatures;
use crate::transforms::group_form::GroupForm;
use crate::transforms::inline::CallSites;

/// What a pass needs besides the module.
#[derive(Clone, Debug, Default)]
pub struct PassContext {
    /// How devices see one another in the partitioned program.
    pub mode: SpmdMode,
    /// What this run of the pass was given, of [`Pass::options`](super::passes::Pass::options).
    pub options: PassOptions,
    /// How far collectives are cleaned up.
    pub clean: CleanOptions,
    /// How the partitioned program writes replica groups.
    pub groups: GroupForm,
    /// What is said about the program besides its text.
    pub import: ImportOptions,
    /// How shardings are propagated.
    pub propagate: PropagateOptions,
    /// Whether gathers that nobody asked for are errors.
    pub strict: bool,
    /// The bytes from which on a gather is worth telling; `None` leaves it to the size of what the program sends.
    pub warn_bytes: Option<u64>,
    /// What may end the run early: looked at between passes, and within propagation and planning.
    pub interrupt: Interrupt,
    /// Whether a whole pipeline runs, so that each pass may rely on those before it.
    pub(crate) in_pipeline: bool,
    pub(crate) handed: Handed,
}

/// What a pass gives: warnings, or the reasons why it could not do its work.
pub type PassResult = Result<Vec<Diagnostic>, Vec<Diagnostic>>;

/// What is said about a program besides its text.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// Sizes of symbolic dimensions.
    pub dims: Vec<DimSize>,
    /// The mesh, for a program that has none or in place of its own.
    pub mesh: Option<MeshSpec>,
    /// Shardings of arguments and results.
    pub specs: Vec<Annotation>,
    /// Rules of custom calls.
    pub rules: RuleRegistry,
    /// Whether it is kept through which calls each operation came ([`PassContext::call_sites`]).
    pub trace_calls: bool,
    /// Most operations that inlining all calls may make of the entry function; in a larger program, calls of functions stay
    /// that are called often, where a whole pipeline partitions it. [`INLINE_BUDGET`](shardc_ir::limits::INLINE_BUDGET) if not
    /// given.
    pub inline_budget: Option<u64>,
}

/// What passes found out that the module does not carry. A pass that runs by itself finds it again where it can.
#[derive(Clone, Debug, Default)]
pub(crate) struct Handed {
    /// What `import-gspmd` warns of.
    pub(crate) imported: Vec<Diagnostic>,
    /// Whether annotations came from GSPMD's.
    pub(crate) is_gspmd: bool,
    pub(crate) sites: Option<CallSites>,
    /// The functions that are partitioned by themselves.
    pub(crate) kept: KeptFunctions,
    /// What their calls in the planned program have.
    pub(crate) signatures: Signatures,
    /// What one attempt leaves to the next.
    pub(crate) shared: Shared,
    pub(crate) propagated: PropagateReport,
    /// What the annotations asked for, before planning.
    pub(crate) before: Option<BeforePlan>,
    /// State between the passes of planning.
    pub(crate) planning: Planning,
    pub(crate) plan: Option<Plan>,
    /// The mesh that everything inside of the planned program is on.
    pub(crate) mesh: Option<MeshId>,
    /// Values that are whole on every device where no annotation asks for it.
    pub(crate) gathered: Vec<Diagnostic>,
    /// What else planning warns of.
    pub(crate) notes: Vec<Diagnostic>,
    pub(crate) interface: Option<Interface>,
    pub(crate) cleaned: CleanReport,
}

/// What does not depend on the strategy: the first attempt does it for the second.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shared {
    /// Whether another attempt follows, which wants `begun`.
    pub(crate) is_wanted: bool,
    /// A copy of the module as propagation begins, and what was found out about it: an attempt that is given it propagates from
    /// there.
    pub(crate) begun: Option<(Box<Module>, Arc<Prepared>)>,
    /// What `prioritize` does to it, found out before anything was prepared.
    pub(crate) priorities: Option<Priorities>,
    /// What the attempt before propagated from the same beginning.
    pub(crate) propagated: Option<Propagated>,
    /// Whether this attempt came to the same, so that nothing is left to do in it.
    pub(crate) is_repeated: bool,
}

/// What the propagated program says that planning takes away.
#[derive(Clone, Debug)]
pub(crate) struct BeforePlan {
    pub(crate) asked: Asked,
    /// Collectives of the program that devices come to unequally often.
    pub(crate) partings: Vec<Diagnostic>,
    /// The result that each parameter gives its memory to.
    pub(crate) aliases: Vec<Option<usize>>,
}

impl PassContext {
    /// The context of a pass that runs by itself.
    #[must_use]
    pub fn new(mode: SpmdMode, options: PassOptions) -> Self {
        PassContext { mode, options, ..PassContext::default() }
    }

    /// What propagation said, once it has run.
    #[must_use]
    pub fn propagated(&self) -> &PropagateReport {
        &self.handed.propagated
    }

    /// The calls that operations came through, where [`ImportOptions::trace_calls`] asks for them.
    #[must_use]
    pub fn call_sites(&self) -> Option<&CallSites> {
        self.handed.sites.as_ref()
    }

    /// The functions whose calls `inline` left, for [`partition`](super::partition::partition) to be told of them.
    #[must_use]
    pub fn kept_functions(&self) -> &KeptFunctions {
        &self.handed.kept
    }

    /// The context with the functions whose calls `inline` left in the module.
    #[must_use]
    pub fn with_kept_functions(mut self, kept: KeptFunctions) -> Self {
        self.handed.kept = kept;
        self
    }

    /// What reading the annotations warns of.
    #[must_use]
    pub fn import_warnings(&self) -> &[Diagnostic] {
        &self.handed.imported
    }
}
