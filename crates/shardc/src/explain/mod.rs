//! Explains the shardings of a program.
//!
//! [`Compiler::explain`] answers a [`Question`] with a [`Report`]. For every axis on a value, the report contains the annotation from which
//! the axis was propagated, and the operations that propagated the axis, with their lines in the file and in the user's own program. The
//! report also contains the conflicts between operands and results with their resolution, and for every collective the operation that needs
//! it, with the reason. The report is data: [`Report::to_json`] serializes it, [`Report::to_text`] formats it for a terminal, and
//! [`Report::to_html`] as an HTML page ([`crate::page`]).
//!
//! ```
//! use shardc::Compiler;
//! use shardc::explain::Question;
//!
//! # fn main() -> Result<(), shardc::Error> {
//! let source = br#"
//!   sdy.mesh @mesh = <["data"=4, "model"=2]>
//!   func.func @main(
//!       %x: tensor<32x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
//!       %w: tensor<64x16xf32>) -> tensor<32x16xf32> {
//!     %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
//!         : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
//!     return %0 : tensor<32x16xf32>
//!   }
//! "#;
//! let report = Compiler::new().explain(source, "step.mlir", &Question::Value("%0".into()))?;
//! let axis = &report.values[0].axes[0];
//! assert_eq!((axis.axis.as_str(), axis.place.as_str()), ("data", "dimension 0"));
//! assert_eq!(axis.origin, "argument 0 %x");
//! assert_eq!(axis.steps[1].how, "through stablehlo.dot_general");
//! # Ok(())
//! # }
//! ```

mod axes;
mod collectives;
mod conflicts;
mod graph;
mod names;
mod report;
mod select;
mod summary;
mod text;

use shardc_ir::{AxisRef, Diagnostic, FuncId, Module, RegionId, TensorSharding, ValueId};
use shardc_passes::driver::context::PassContext;
use shardc_passes::driver::pipeline::{Flow, Observer, PassRun};
use shardc_passes::driver::strategy::Strategy;
use shardc_passes::propagate::{AxisRole as At, Provenance, Subject};

pub(crate) use collectives::axes_of;
pub use report::{
    AnnotationReport, AxisOrigin, AxisReport, CalledReport, CollectiveReport, ConflictReport, GraphEdge,
    GraphNode, GraphReport, MeshAxis, MeshReport, ReplicatedReport, Report, SourcePlace, StepReport,
    ValueReport,
};

use crate::{Compiler, Error, Output};
use names::Names;

/// A question about a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Question {
    /// The whole program.
    #[default]
    Summary,
    /// The whole program without the propagation paths of arguments and results, which the text form omits: their total size may be
    /// proportional to the size of the program times the number of its arguments.
    Overview,
    /// Values by name: `%5`, `%arg0`, or the front end's name of an argument or result.
    Value(String),
    /// An argument of the program, from 0.
    Argument(usize),
    /// A result of the program, from 0.
    Result(usize),
    /// Values produced on a line of the file, from 1.
    Line(usize),
    /// A collective of the partitioned program, from 0.
    Collective(usize),
}

impl Compiler {
    /// Explains the shardings of a program. `name` is the name of the file.
    ///
    /// # Errors
    /// The program cannot be parsed or propagated, or the question matches nothing in it. A program that can be propagated but not
    /// partitioned is explained without its collectives, with a note.
    pub fn explain(&self, source: &[u8], name: &str, question: &Question) -> Result<Report, Error> {
        let raw = Self::read(source)?;
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
        let text = if crate::is_bytecode(source) { "" } else { std::str::from_utf8(source).unwrap_or("") };
        let module = &propagated;
        let Some(body) = module.funcs[entry].body else { return Err(module.no_entry().into()) };
        let explainer = Explainer {
            module,
            func: entry,
            body,
            raw: &raw,
            provenance: &provenance,
            names: Names::new(module, entry, text, sites),
        };
        let mut report = Report { version: 1, source: name.to_owned(), ..Report::default() };
        if strategy == Strategy::BatchFirst {
            report.notes.push(
                "batch annotations took priority over parameter annotations, because that partition is \
                 cheaper"
                    .to_owned(),
            );
        }
        report.mesh = explainer.mesh();
        explainer.answer(question, partitioned.as_ref(), &mut report)?;
        Ok(report)
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

/// A propagated program, with the origin of every axis.
struct Explainer<'a> {
    module: &'a Module,
    func: FuncId,
    body: RegionId,
    /// The program as it was parsed.
    raw: &'a Module,
    provenance: &'a Provenance,
    names: Names<'a>,
}

impl Explainer<'_> {
    fn answer(
        &self,
        question: &Question,
        partitioned: Result<&Output, &Error>,
        report: &mut Report,
    ) -> Result<(), Error> {
        match question {
            Question::Summary => {
                self.boundary(report);
                self.summary(partitioned, report);
                report.graph = Some(self.graph(partitioned.ok(), &mut report.collectives));
            }
            Question::Overview => self.summary(partitioned, report),
            Question::Collective(number) => {
                let output = partitioned.map_err(|e| match e {
                    Error::Diagnostics(_) | Error::Graph(_) => e.clone(),
                    Error::Runtime(error) => Diagnostic::internal("SH0821", error.to_string()).into(),
                })?;
                report.collectives = self.one_collective(output, *number)?;
            }
            Question::Value(_) | Question::Argument(_) | Question::Result(_) | Question::Line(_) => {
                for subject in self.select(question)? {
                    report.values.push(self.value(subject, true));
                }
            }
        }
        Ok(())
    }

    /// Every value of the program that can have a sharding, arguments first.
    fn values(&self) -> Vec<ValueId> {
        let mut out = self.module.regions[self.body].args.clone();
        for op in self.module.walk(self.body) {
            for &region in &self.module.ops[op].regions {
                out.extend(&self.module.regions[region].args);
            }
            out.extend(&self.module.ops[op].results);
        }
        out.retain(|&value| self.module.shardings.of(value).is_some());
        out
    }

    /// The first mesh with several devices.
    fn mesh(&self) -> Option<MeshReport> {
        let mesh = self.module.meshes.values().find(|mesh| !mesh.is_maximal())?;
        let axes = mesh.axes.iter().map(|(name, &size)| MeshAxis { name: name.to_string(), size }).collect();
        Some(MeshReport { axes, devices: mesh.device_ids.clone() })
    }

    fn num_results(&self) -> usize {
        self.module.funcs[self.func].results.len()
    }

    fn sharding(&self, subject: Subject) -> Option<&TensorSharding> {
        match subject {
            Subject::Value(value) => self.module.shardings.sharding_of(value),
            Subject::Result(i) => {
                let id = self.module.funcs[self.func].res_shardings.get(i as usize)?.expand()?;
                Some(self.module.shardings.get(id))
            }
        }
    }

    fn axis(&self, sharding: &TensorSharding, axis: AxisRef) -> String {
        self.module.meshes[sharding.mesh].axis_text(axis)
    }

    fn type_of(&self, subject: Subject) -> String {
        let ty = match subject {
            Subject::Value(value) => self.module.values[value].ty,
            Subject::Result(i) => match self.module.funcs[self.func].results.get(i as usize) {
                Some(&ty) => ty,
                None => return String::new(),
            },
        };
        self.module.types.display(ty)
    }
}

/// The use of an axis as text: `dimension 0`.
fn at_text(at: At) -> String {
    match at {
        At::Dim(d) => format!("dimension {d}"),
        At::Replicated => "replicated".to_owned(),
        At::Unreduced => "unreduced".to_owned(),
    }
}
