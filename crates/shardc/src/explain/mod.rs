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
mod because;
pub(crate) mod classes;
mod collectives;
mod conflicts;
mod counterparts;
mod flow;
mod fold;
mod graph;
mod links;
mod names;
mod remedies;
mod report;
mod select;
mod session;
#[cfg(test)]
mod session_tests;
mod summary;
mod text;

use shardc_ir::{AxisRef, Diagnostic, FuncId, Module, RegionId, TensorSharding, ValueId};
use shardc_passes::propagate::{AxisRole as At, Provenance, Subject};

pub use classes::OperandClass;
pub(crate) use collectives::{axes_of, axes_of_collective};
pub use fold::CollectiveFilter;
pub use report::{
    AnnotationReport, AxisOrigin, AxisReport, CalledReport, CollectiveReport, ConflictReport, GraphEdge,
    GraphNode, GraphReport, MeshAxis, MeshReport, RemedyReport, ReplicatedReport, Report, ServedReport,
    SourcePlace, StepReport, TotalsReport, ValueReport,
};
pub use session::{Session, ValueLayout};
pub use shardc_passes::report::byte_size::bytes_text;

use crate::{Compiler, Error, Output};
use because::Needs;
use classes::ProgramRoles;
use fold::number_groups;
use names::Names;
use remedies::Trials;

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
    /// The collectives of the partitioned program.
    Collectives,
    /// Arguments and results with the origins of their axes but without propagation paths, and the collectives.
    Origins,
    /// A collective of the partitioned program, from 0.
    Collective(usize),
}

/// The contents of a report about collectives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainOptions {
    /// Which collectives the report contains.
    pub filter: CollectiveFilter,
    /// The number of groups of equal collectives for which a remedy is searched, largest first; 0 by default. The program is partitioned
    /// again with each change of annotations that may help, up to two for each group.
    pub remedies: usize,
}

impl Compiler {
    /// Explains the shardings of a program. `name` is the name of the file.
    ///
    /// # Errors
    /// The program cannot be parsed or propagated, or the question matches nothing in it. A program that can be propagated but not
    /// partitioned is explained without its collectives, with a note.
    pub fn explain(&self, source: &[u8], name: &str, question: &Question) -> Result<Report, Error> {
        self.explain_with(source, name, question, &ExplainOptions::default())
    }

    /// Explains a program as [`Compiler::explain`] does, with options.
    ///
    /// # Errors
    /// The errors of [`Compiler::explain`].
    pub fn explain_with(
        &self,
        source: &[u8],
        name: &str,
        question: &Question,
        options: &ExplainOptions,
    ) -> Result<Report, Error> {
        let text = if crate::is_bytecode(source) { "" } else { std::str::from_utf8(source).unwrap_or("") };
        let explained = self.explain_module(Self::read(source)?, (name, text), question, options)?;
        Ok(explained.report)
    }

    /// Explains a parsed program, to which annotations may have been added. `source` is the name and the text of its file; the text is empty
    /// if the program was read from bytecode.
    ///
    /// # Errors
    /// The errors of [`Compiler::explain`].
    pub fn explain_module(
        &self,
        raw: Module,
        source: (&str, &str),
        question: &Question,
        options: &ExplainOptions,
    ) -> Result<Explained, Error> {
        let session = self.session(raw, source.0, source.1)?;
        let report = session.answer(question, options)?;
        Ok(Explained { report, partitioned: session.partitioned })
    }
}

/// The answer of [`Compiler::explain_module`], and the partitioned program.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The answer.
    pub report: Report,
    /// The partitioned program, or the reason why the program cannot be partitioned.
    pub partitioned: Result<Output, Error>,
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
    compiler: &'a Compiler,
    options: &'a ExplainOptions,
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
                let roles = ProgramRoles::of(self.raw);
                let (mut all, _) = self.collectives(output, &roles);
                self.explain_remedy(output, &mut all, *number, &roles);
                report.collectives = self.one_collective(output, all, *number)?;
            }
            Question::Collectives => {
                self.all_collectives(partitioned, report);
            }
            Question::Origins => {
                self.origins_of_boundary(report);
                self.all_collectives(partitioned, report);
            }
            Question::Value(_) | Question::Argument(_) | Question::Result(_) | Question::Line(_) => {
                for subject in self.select(question)? {
                    report.values.push(self.value(subject, true));
                }
            }
        }
        Ok(())
    }

    /// Adds the collectives that the options select, with their remedies. Returns the operations that need them.
    fn all_collectives(&self, partitioned: Result<&Output, &Error>, report: &mut Report) -> Option<Needs> {
        let output = match partitioned {
            Ok(output) => output,
            Err(error) => {
                report.notes.push(format!(
                    "the program cannot be partitioned, so its collectives are unknown: {}",
                    error.to_string().lines().next().unwrap_or_default()
                ));
                return None;
            }
        };
        let roles = ProgramRoles::of(self.raw);
        let (mut collectives, needs) = self.collectives(output, &roles);
        report.totals = Some(TotalsReport::of(&collectives));
        number_groups(&mut collectives);
        self.options.filter.apply(&mut collectives);
        if self.options.remedies > 0 {
            let mut trials = Trials::new(self.compiler, self.raw, &roles, output.num_devices());
            self.add_remedies(output, &mut collectives, &mut trials, self.options.remedies);
        }
        report.collectives = collectives;
        Some(needs)
    }

    /// Adds the remedy of one collective.
    fn explain_remedy(
        &self,
        output: &Output,
        all: &mut [CollectiveReport],
        number: usize,
        roles: &ProgramRoles,
    ) {
        if let (Some(collective), true) = (all.get_mut(number), self.options.remedies > 0) {
            let mut trials = Trials::new(self.compiler, self.raw, roles, output.num_devices());
            self.add_remedies(output, std::slice::from_mut(collective), &mut trials, 1);
        }
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
