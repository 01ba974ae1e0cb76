//! A partitioned program that answers questions about its values.

use std::sync::{Arc, OnceLock};

use shardc_ir::{Diagnostic, FuncId, Module, OpId, RegionId, Shape, TensorType, Type, ValueId};
use shardc_passes::driver::context::PassContext;
use shardc_passes::driver::pipeline::{Flow, Observer, PassRun};
use shardc_passes::driver::strategy::Strategy;
use shardc_passes::propagate::{Provenance, Subject};
use shardc_passes::transforms::inline::CallSites;

use super::links::Links;
use super::names::Names;
use super::{ExplainOptions, Explainer, Question, Report, ValueReport};
use crate::spec_text::spec_text;
use crate::{Compiler, Error, Output};

/// A program that was propagated and partitioned once, and answers any number of questions: about a value of the text, for editors, or
/// about the program, as [`Compiler::explain`] does.
///
/// ```
/// use shardc::Compiler;
///
/// # fn main() -> Result<(), shardc::Error> {
/// let source = r#"
///   sdy.mesh @mesh = <["data"=4]>
///   func.func @main(%x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>}) -> tensor<32x64xf32> {
///     %0 = stablehlo.tanh %x : tensor<32x64xf32>
///     return %0 : tensor<32x64xf32>
///   }
/// "#;
/// let (module, index) = shardc::stablehlo::parse_indexed(source);
/// let session = Compiler::new().session(module?, "step.mlir", source)?;
/// let definition = index.definition_at(source.find("%0").unwrap()).unwrap();
/// let value = index.definitions()[definition].first.unwrap();
/// let layout = session.layout(value).unwrap();
/// assert_eq!((layout.local_type.as_str(), layout.spec.as_str(), layout.bytes), ("tensor<8x64xf32>", "data,-", Some(2048)));
/// assert_eq!(session.explain_value(value).unwrap().axes[0].origin, "argument 0 %x");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Session {
    compiler: Compiler,
    name: String,
    source: Arc<str>,
    /// The program as it was parsed.
    pub(super) raw: Module,
    /// The program after propagation, with the strategy that partitioning chose.
    pub(super) propagated: Module,
    pub(super) entry: FuncId,
    pub(super) body: RegionId,
    provenance: Box<Provenance>,
    pub(super) sites: CallSites,
    strategy: Strategy,
    pub(super) partitioned: Result<Output, Error>,
    /// The operations of the propagated program by the offset of their names in the text.
    pub(super) ops: Vec<(u32, OpId)>,
    /// Computed at the first question that needs it.
    pub(super) links: OnceLock<Links>,
}

/// The global and the local form of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueLayout {
    /// The type of the whole value: `tensor<32x64xf32>`.
    pub global_type: String,
    /// The shape of the whole value.
    pub global_shape: Shape,
    /// The type of the block on one device.
    pub local_type: String,
    /// The shape of the block on one device.
    pub local_shape: Shape,
    /// The sharding in sdy's syntax: `#sdy.sharding<@mesh, [{"data"}, {}]>`.
    pub sharding: String,
    /// The sharding as `--spec` accepts it: `data,-`.
    pub spec: String,
    /// The bytes of the block on one device; `None` if a dimension is dynamic.
    pub bytes: Option<u64>,
}

impl Compiler {
    /// Propagates and partitions a parsed program, to which annotations may have been added, and keeps the results for questions. `name` and
    /// `source` are those of its file; the text is empty if the program was read from bytecode.
    ///
    /// # Errors
    /// The program cannot be propagated. For a program that can be propagated but not partitioned, [`Session::partitioned`] is the error.
    pub fn session(&self, raw: Module, name: &str, source: impl Into<Arc<str>>) -> Result<Session, Error> {
        let (imported, sites) = self.import_tracing(raw.clone())?;
        let entry = imported.entry;
        let mut traces = Traces::default();
        let partitioned = self.tracing().partition_imported(imported, &mut traces);
        let partitioned = partitioned.and_then(|output| output.ok_or_else(|| raw.no_entry().into()));
        let strategy = partitioned.as_ref().map_or(Strategy::default(), |output| output.strategy);
        let Some((_, propagated, provenance)) = traces.0.into_iter().find(|trace| trace.0 == strategy) else {
            // Propagation failed, so there is no program to explain.
            return Err(partitioned.err().unwrap_or_else(|| raw.no_entry().into()));
        };
        let Some(body) = propagated.funcs[entry].body else { return Err(propagated.no_entry().into()) };
        let with_span = |op: &OpId| propagated.ops[*op].span.is_some();
        let mut ops: Vec<(u32, OpId)> = propagated
            .walk(body)
            .into_iter()
            .filter(with_span)
            .map(|op| (propagated.ops[op].span.start, op))
            .collect();
        ops.sort_by_key(|&(start, _)| start);
        Ok(Session {
            compiler: self.clone(),
            name: name.to_owned(),
            source: source.into(),
            raw,
            propagated,
            entry,
            body,
            provenance,
            sites,
            strategy,
            partitioned,
            ops,
            links: OnceLock::new(),
        })
    }
}

impl Session {
    /// The partitioned program.
    ///
    /// # Errors
    /// The reason why the program cannot be partitioned.
    pub fn partitioned(&self) -> Result<&Output, &Error> {
        self.partitioned.as_ref()
    }

    /// Answers a question about the program.
    ///
    /// # Errors
    /// The question matches nothing in the program.
    pub fn answer(&self, question: &Question, options: &ExplainOptions) -> Result<Report, Error> {
        let explainer = self.explainer(options);
        let target = self.compiler.options.costs.name();
        let mut report = Report { version: 1, source: self.name.clone(), target, ..Report::default() };
        if self.strategy == Strategy::BatchFirst {
            report.notes.push(
                "batch annotations took priority over parameter annotations, because that partition is \
                 cheaper"
                    .to_owned(),
            );
        }
        report.mesh = explainer.mesh();
        explainer.answer(question, self.partitioned.as_ref(), &mut report)?;
        Ok(report)
    }

    /// Explains the sharding of a value of the parsed program: the origins of its axes, and the conflicts. Returns `None` if the propagated
    /// program does not contain the value. For a value of a function with several calls, the report is that of one call.
    #[must_use]
    pub fn explain_value(&self, value: ValueId) -> Option<ValueReport> {
        let found = *self.counterparts(value).first()?;
        Some(self.explainer(&ExplainOptions::default()).value(Subject::Value(found), true))
    }

    /// The layout of a value of the parsed program. Returns `None` if the propagated program does not contain the value, or if it is not a
    /// tensor. For a value of a function with several calls, the layout is that of one call.
    #[must_use]
    pub fn layout(&self, value: ValueId) -> Option<ValueLayout> {
        self.layout_of(*self.counterparts(value).first()?)
    }

    /// The different layouts of a value of the parsed program: there may be several in a function with several calls.
    #[must_use]
    pub fn layouts(&self, value: ValueId) -> Vec<ValueLayout> {
        let mut layouts: Vec<ValueLayout> = Vec::new();
        for layout in self.counterparts(value).into_iter().filter_map(|value| self.layout_of(value)) {
            if !layouts.contains(&layout) {
                layouts.push(layout);
            }
        }
        layouts
    }

    /// The layout of a value of the propagated program.
    fn layout_of(&self, value: ValueId) -> Option<ValueLayout> {
        let module = &self.propagated;
        let sharding = module.shardings.sharding_of(value)?;
        let mesh = &module.meshes[sharding.mesh];
        let ty = module.values[value].ty;
        let global_shape = module.types.shape_of(ty)?.clone();
        let local_shape = sharding.local_shape(mesh, &global_shape);
        let local_type = match module.types.get(ty) {
            Type::Tensor(tensor) => TensorType { shape: local_shape.clone(), ..tensor.clone() }.to_string(),
            Type::Quantized(tensor) => {
                let mut local = tensor.clone();
                local.shape.clone_from(&local_shape);
                local.to_string()
            }
            Type::Token | Type::Tuple(_) | Type::Other(_) => return None,
        };
        let stored = module.types.stored(ty);
        let stored = stored.map(|stored| TensorType { shape: local_shape.clone(), ..stored.clone() });
        Some(ValueLayout {
            global_type: module.types.display(ty),
            global_shape,
            local_type,
            local_shape,
            sharding: format!(
                "#sdy.sharding<@{}, {}>",
                module.mesh_name(sharding.mesh),
                sharding.display(mesh)
            ),
            spec: spec_text(sharding, mesh),
            bytes: stored.and_then(|stored| u64::try_from(stored.num_bytes()?).ok()),
        })
    }

    fn explainer<'a>(&'a self, options: &'a ExplainOptions) -> Explainer<'a> {
        Explainer {
            module: &self.propagated,
            func: self.entry,
            body: self.body,
            raw: &self.raw,
            provenance: &self.provenance,
            names: Names::new(&self.propagated, self.entry, &self.source, &self.sites),
            compiler: &self.compiler,
            options,
        }
    }
}

/// The program after propagation with each strategy, with the origin of every axis.
#[derive(Default)]
struct Traces(Vec<(Strategy, Module, Box<Provenance>)>);

impl Observer for Traces {
    fn after(
        &mut self,
        run: &PassRun<'_>,
        module: &mut Module,
        context: &PassContext,
    ) -> Result<Flow, Vec<Diagnostic>> {
        if let ("propagate", Some(strategy)) = (run.step.pass.name, run.strategy) {
            let provenance = context.propagated().provenance.clone().unwrap_or_default();
            self.0.push((strategy, module.clone(), provenance));
        }
        Ok(Flow::Continue)
    }
}
