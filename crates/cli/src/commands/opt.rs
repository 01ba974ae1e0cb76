//! `shardc opt`

use std::ops::Range;
use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use shardc::{Compiler, Diagnostic, Error, Module};
use shardc_ir::SpmdMode;
use shardc_passes::driver::pass_options::PassOptions;
use shardc_passes::driver::passes::{PASSES, Pass, PassContext};
use shardc_passes::driver::pipeline::{self, Step};
use shardc_shardy::find;
use shardc_stablehlo::{PrintForm, Strictness};

use crate::args::{Emit, Expect, ObserveArgs, OptArgs};
use crate::failure::usage;
use crate::job;
use crate::observe::Watch;
use crate::output::Outputs;
use crate::source::Source;
use crate::ui::Ui;
use crate::ui::table::Table;

pub(crate) fn run(args: &OptArgs, ui: &Ui) -> Result<ExitCode> {
    if args.passes.iter().any(|p| p == "list") {
        list(ui)?;
        return Ok(ExitCode::SUCCESS);
    }
    let passes = args.passes.iter().map(|text| step(text)).collect::<Result<Vec<_>>>()?;
    let passes = pipeline::with_planning(passes);
    let Some(input) = &args.input else {
        return Err(usage(
            "no program is given: use `shardc opt FILE --passes PASSES`, or - for standard input",
        ));
    };
    let binary = matches!(args.to.form.emit, Emit::Bytecode | Emit::Artifact(_));
    if args.split_input_file && binary {
        return Err(usage("bytecode contains one program: leave out --split-input-file or --emit"));
    }
    if args.verify_diagnostics.is_some() && binary {
        return Err(usage("programs with expected errors are printed as text: leave out --emit"));
    }
    let timings = args.observe.timings.as_deref().map(|path| ("--timings", path));
    let named: Vec<_> = [("--output", args.to.output.as_path())].into_iter().chain(timings).collect();
    let mut outputs = Outputs::plan(&named, &[("the input", input)])?;
    let sizes = job::sizes(&args.symbolic)?;
    let source = Source::read(input)?;
    let programs = programs(&source, args.split_input_file);
    let printed = |module: &Module, located: bool| {
        let mut options = args.to.form.print_options(located);
        options.locations |= args.mlir_print_debuginfo;
        if args.mlir_print_op_generic {
            options.form = PrintForm::Generic;
        }
        shardc_stablehlo::print(module, &options)
    };
    let mut progress = ui.progress();
    // The user chooses the order of passes, so the module is verified after each pass.
    let observe = ObserveArgs { verify_each: true, ..args.observe.clone() };
    let mut watch = Watch::new(&observe, Some(&args.stop), &mut progress)?;
    watch.in_any_order = true;
    let mut texts: Vec<String> = Vec::new();
    let mut wrong: Vec<Diagnostic> = Vec::new();
    let mut failed = false;
    let mut reported: Vec<&str> = Vec::new();
    for (range, module) in programs {
        let mut warnings = Vec::new();
        let located = module.as_ref().is_ok_and(Module::has_locations);
        let done = module
            .and_then(|mut module| {
                if !sizes.is_empty() {
                    shardc::specialize(&mut module, &sizes)?;
                }
                Ok(module)
            })
            .and_then(|module| through(module, &passes, args.spmd_mode.into(), &mut watch, &mut warnings));
        warnings.retain(|warning| {
            let again = reported.contains(&warning.code);
            reported.extend(shardc_shardy::REPORTED_ONCE.contains(&warning.code).then_some(warning.code));
            !again
        });
        if let Some(expect) = args.verify_diagnostics {
            // With `--verify-diagnostics`, programs are also printed, as in MLIR. A rejected program leaves an empty part in the output.
            texts.push(match done {
                Ok(module) => printed(&module, located),
                Err(Error::Diagnostics(errors)) => {
                    warnings.extend(errors);
                    String::new()
                }
                Err(error) => return Err(source.explain(&error)),
            });
            let text = String::from_utf8_lossy(&source.bytes);
            wrong.extend(shardc_stablehlo::check_expected(&text, range, &warnings, expect.into()));
            continue;
        }
        ui.warn(&source, &warnings);
        match done {
            Ok(module) => match args.to.form.emit.binary(&module) {
                Some(bytes) => {
                    outputs.put(&args.to.output, bytes.map_err(|e| source.explain(&e))?)?;
                    outputs.commit()?;
                    return Ok(ExitCode::SUCCESS);
                }
                None => texts.push(printed(&module, located)),
            },
            Err(error) if args.split_input_file => {
                ui.error(&source.explain(&error));
                texts.push(String::new());
                failed = true;
            }
            Err(error) => return Err(source.explain(&error)),
        }
    }
    let timings = watch.timings();
    let stages = progress.finish();
    if let Some(path) = &args.observe.timings {
        outputs.put(path, timings.document(&stages, ui))?;
    }
    outputs.put(&args.to.output, texts.join("\n// -----\n"))?;
    outputs.commit()?;
    if !wrong.is_empty() {
        return Err(source.explain(&Error::Diagnostics(wrong)));
    }
    Ok(if failed { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// Prints the passes.
fn list(ui: &Ui) -> Result<()> {
    let passes = || PASSES.iter().chain(shardc_shardy::passes());
    ui.result(
        || {
            let mut table = Table::new(&["pass", "description"]);
            passes().for_each(|pass| table.row(vec![pass.name.into(), pass.about.into()]));
            ui.table(&table)
        },
        || {
            let pass = |pass: &Pass| json!({ "pass": pass.name, "about": pass.about });
            json!({ "version": 1, "passes": passes().map(pass).collect::<Vec<_>>() })
        },
    )
}

/// Reads the programs of a source, each with its byte range.
fn programs(source: &Source, is_split: bool) -> Vec<(Range<usize>, Result<Module, Error>)> {
    match std::str::from_utf8(&source.bytes) {
        Ok(text) if is_split => shardc_stablehlo::parse_split(text)
            .into_iter()
            .map(|c| (c.range, c.module.map_err(Error::from)))
            .collect(),
        _ => vec![(0..source.bytes.len(), Compiler::read(&source.bytes))],
    }
}

/// Parses a pass: `name` or `name{option=value option=value}`.
fn step(text: &str) -> Result<Step> {
    let names: Vec<&str> = PASSES.iter().chain(shardc_shardy::passes()).map(|pass| pass.name).collect();
    Step::parse_among(text.trim().trim_start_matches('-'), find, &names).map_err(|error| {
        let hint = error.hint.unwrap_or_else(|| "`shardc opt --passes list` lists the passes".to_owned());
        usage(format!("{}; {hint}", error.message))
    })
}

/// Runs the passes, and the verifier before and after each; `--stop-after` ends the pipeline early.
fn through(
    mut module: Module,
    steps: &[Step],
    mode: SpmdMode,
    watch: &mut Watch<'_>,
    warnings: &mut Vec<Diagnostic>,
) -> Result<Module, Error> {
    shardc_ir::verify(&module)?;
    let mut context = PassContext::new(mode, PassOptions::default());
    let (_, new_warnings) = pipeline::run(steps, &mut module, &mut context, None, &mut 0, watch)?;
    warnings.extend(new_warnings);
    Ok(module)
}

impl From<Expect> for Strictness {
    fn from(expect: Expect) -> Self {
        match expect {
            Expect::Kind => Strictness::Kind,
            Expect::Line => Strictness::Line,
            Expect::Text => Strictness::Text,
        }
    }
}
