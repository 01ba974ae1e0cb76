//! Programs, and what is compiled from them.

use shardc::explain::{ExplainOptions, Question};
use shardc::ir::Module;
use shardc::lint::{self, LintOptions};
use shardc::plan::PlanOptions;
use shardc::stablehlo::{PrintForm, PrintOptions, Version, print};
use shardc::{Compiler, Error, Output, autodiff};

use crate::diagnostics::Diagnostics;
use crate::failure::Failure;
use crate::options::Options;
use crate::report::Report;
use crate::text::Text;
use crate::words::for_c;

/// A program in StableHLO.
#[derive(Debug)]
pub struct Program {
    module: Module,
    /// The name in messages.
    name: String,
    /// The text, if the program was read from text: messages quote its lines.
    source: String,
}

/// A partitioned program.
#[derive(Debug)]
pub struct Partitioned {
    output: Output,
    name: String,
    pub(crate) manifest: Text,
    pub(crate) warnings: Diagnostics,
    /// The warnings that are worth printing, with lines of the program.
    pub(crate) warning_text: Text,
}

/// How a program is written.
#[derive(Clone, Debug)]
pub(crate) enum Form {
    Text,
    Generic,
    Bytecode,
    Artifact(Version),
}

/// Which form of a partitioned program is meant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Part {
    PerDevice,
    Backend,
    ManualComputation,
}

impl Program {
    /// Reads text, bytecode or a portable artifact.
    pub(crate) fn read(data: &[u8], name: &str) -> Result<Program, Failure> {
        let source = std::str::from_utf8(data).unwrap_or_default();
        let module = Compiler::read(data).map_err(|error| Failure::of(&error, name, source))?;
        Ok(Program { module, name: name.to_owned(), source: source.to_owned() })
    }

    /// A transformed program, which has no text.
    fn derived(&self, module: Module) -> Program {
        Program { module, name: self.name.clone(), source: String::new() }
    }

    fn failure(&self, error: &Error) -> Failure {
        Failure::of(error, &self.name, &self.source)
    }

    /// Writes the program.
    pub(crate) fn write(&self, form: &Form) -> Result<Text, Failure> {
        written(&self.module, form).map_err(|error| self.failure(&error))
    }

    /// Propagates shardings.
    pub(crate) fn propagate(&self, options: &Options) -> Result<(Program, Diagnostics), Failure> {
        let propagated = options.compiler.propagate(self.module.clone()).map_err(|e| self.failure(&e))?;
        let warnings = Diagnostics::located(&for_c(propagated.warnings), &self.name, &self.source);
        Ok((self.derived(propagated.module), warnings))
    }

    /// Partitions the program.
    pub(crate) fn partition(&self, options: &Options) -> Result<Partitioned, Failure> {
        let output =
            options.compiler.partition_module(self.module.clone()).map_err(|error| self.failure(&error))?;
        let selected = for_c(output.warnings_to_print().diagnostics());
        Ok(Partitioned {
            manifest: output.manifest().to_json().into(),
            warnings: Diagnostics::located(&for_c(output.warnings.clone()), &self.name, &self.source),
            warning_text: shardc::render(&selected, &self.name, &self.source, false).into(),
            name: self.name.clone(),
            output,
        })
    }

    /// Explains shardings and collectives: of the whole program, of one value, or one collective by its number.
    pub(crate) fn explain(&self, options: &Options, question: &Question) -> Result<Report, Failure> {
        let source = (self.name.as_str(), self.source.as_str());
        let explained = options.compiler.explain_module(
            self.module.clone(),
            source,
            question,
            &ExplainOptions::default(),
        );
        let report = explained.map_err(|error| self.failure(&error))?.report;
        Ok(Report {
            text: report.to_text(false).into(),
            json: report.to_json().into(),
            html: report.to_html().into(),
        })
    }

    /// Estimates memory and time of a device of the options' target.
    pub(crate) fn plan(&self, options: &Options) -> Result<Report, Failure> {
        let target = options.target.clone().ok_or_else(|| {
            Failure::argument(
                "a plan needs a target with a grid, such as \"v5p:4x4x4\": set `target` of shardc_options",
            )
        })?;
        let plan = PlanOptions::new(&self.name, target);
        let planned =
            options.compiler.plan(self.module.clone(), &plan).map_err(|error| self.failure(&error))?.report;
        Ok(Report {
            text: planned.to_text(false).into(),
            json: planned.to_json().into(),
            html: Text::default(),
        })
    }

    /// Reports annotations that probably cost more than intended.
    pub(crate) fn lint(&self, options: &Options) -> Result<Report, Failure> {
        let linted = options.compiler.lint(self.module.clone(), &LintOptions::default());
        let linted = linted.map_err(|error| self.failure(&error))?;
        Ok(Report {
            text: lint::to_text(&linted, &self.name, &self.source).into(),
            json: lint::to_json(&linted, &self.name, &self.source).to_string().into(),
            html: Text::default(),
        })
    }

    /// The program of the gradients of the first result with respect to the named arguments; with `value`, also the result.
    pub(crate) fn grad(&self, wrt: &[&str], value: bool) -> Result<Program, Failure> {
        let mut module = self.module.clone();
        let changed = autodiff::arguments(&module, wrt).and_then(|wrt| {
            if value {
                autodiff::value_and_grad(&mut module, &wrt)
            } else {
                autodiff::grad(&mut module, &wrt)
            }
        });
        changed.map_err(|error| self.failure(&error))?;
        Ok(self.derived(module))
    }
}

impl Partitioned {
    /// The number of devices.
    pub(crate) fn num_devices(&self) -> usize {
        self.output.num_devices()
    }

    /// Writes a part of the result.
    pub(crate) fn write(&self, part: Part, form: &Form) -> Result<Text, Failure> {
        let text = match (part, form) {
            (Part::PerDevice, form) => written(&self.output.module, form),
            (Part::ManualComputation, form) => {
                self.output.manual_computation().and_then(|module| written(&module, form))
            }
            (Part::Backend, Form::Text | Form::Generic) => self.output.backend_text().map(Text::from),
            (Part::Backend, Form::Bytecode) => self.output.bytecode().map(Text::from),
            (Part::Backend, Form::Artifact(version)) => self.output.artifact(*version).map(Text::from),
        };
        text.map_err(|error| Failure::of(&error, &self.name, ""))
    }
}

fn written(module: &Module, form: &Form) -> Result<Text, Error> {
    let printed = |form| print(module, &PrintOptions { form, ..PrintOptions::default() }).into();
    Ok(match form {
        Form::Text => printed(PrintForm::Pretty),
        Form::Generic => printed(PrintForm::Generic),
        Form::Bytecode => Compiler::write_bytecode(module)?.into(),
        Form::Artifact(version) => Compiler::write_artifact(module, *version)?.into(),
    })
}
