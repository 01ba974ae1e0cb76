//! Corrupted text: parsed, verified, printed, partitioned, analyzed.

use shardc::explain::Question;
use shardc::lint::LintOptions;
use shardc::{Compiler, Diagnostic, Error, SpmdMode};
use shardc_ir::Module;
use shardc_stablehlo::{parse, parse_bytecode, render};

use super::mutate::{gentle, rough, spliced};
use super::outcome::{Finding, Trace, listed, no_blame, quietly, reads_back};
use super::rng::Rng;
use super::sources::{Level, Sources};

/// The mesh for programs without one.
const MESH: &str = "x=2,y=4";
/// Number of attempts to find a change that keeps a program valid.
const TRIES: usize = 8;

pub(super) fn draw(sources: &Sources, rng: &mut Rng) -> Vec<u8> {
    let least = if rng.one_in(8) { Level::Refused } else { Level::Partitions };
    let mut text = match rng.below(6) {
        0 => rng.program(),
        _ => sources.text(rng, least).text().to_owned(),
    };
    if rng.one_in(20) {
        text = spliced(&text, sources.text(rng, Level::Reads).text(), rng);
    }
    let is_rough = rng.one_in(3);
    let changes = if rng.one_in(12) { 4 + rng.below(12) } else { 1 + rng.below(3) };
    for n in 0..changes {
        text = if is_rough && n == 0 {
            rough(&text, rng)
        } else if is_rough {
            gentle(&text, rng)
        } else {
            gentle_and_valid(text, rng)
        };
    }
    text.into_bytes()
}

/// Applies a gentle change that keeps the program valid, if a few attempts find such a change. With arbitrary changes, the parser would
/// reject half of all cases, and the verifier most of the others.
pub(super) fn gentle_and_valid(text: String, rng: &mut Rng) -> String {
    for _ in 0..TRIES {
        let changed = gentle(&text, rng);
        if changed == text {
            continue;
        }
        let valid = quietly(|| parse(&changed).is_ok_and(|module| shardc_ir::verify(&module).is_ok()));
        // A change that makes the parser panic is kept, so that the case reports the panic.
        if valid.unwrap_or(true) {
            return changed;
        }
    }
    text
}

pub(super) fn run(input: &[u8], trace: &mut Trace) -> Result<(), Finding> {
    let text = String::from_utf8_lossy(input);
    let read = parse(&text);
    after_reading(input, &text, read, trace)
}

pub(super) fn run_bytecode(input: &[u8], trace: &mut Trace) -> Result<(), Finding> {
    after_reading(input, "", parse_bytecode(input), trace)
}

fn after_reading(
    input: &[u8],
    text: &str,
    read: Result<Module, Vec<Diagnostic>>,
    trace: &mut Trace,
) -> Result<(), Finding> {
    let module = match read {
        Ok(module) => module,
        Err(errors) => {
            let _ = render(&errors, "input", text, false);
            return trace.refuse("read", &errors);
        }
    };
    trace.pass("read");
    if let Err(errors) = shardc_ir::verify(&module) {
        let _ = render(&errors, "input", text, false);
        return trace.refuse("verify", &errors);
    }
    trace.pass("verify");
    reads_back("print", &module)?;
    trace.pass("print");
    compiled(input, module, trace)
}

/// Partitions and analyzes a program.
pub(super) fn compiled(input: &[u8], module: Module, trace: &mut Trace) -> Result<(), Finding> {
    let mut compiler = Compiler::new();
    // The SPMD mode is selected by a checksum of the input.
    let sum = input.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
    if sum % 2 == 1 {
        compiler = compiler.spmd_mode(SpmdMode::Partition);
    }
    let has_mesh = !module.mesh_names.is_empty() || shardc_passes::gspmd::is_annotated(&module);
    if !has_mesh {
        compiler = match compiler.mesh(MESH) {
            Ok(compiler) => compiler,
            Err(error) => return Err(Finding::new("the mesh is refused", error.to_string())),
        };
    }
    if sum.is_multiple_of(4) {
        let mut options = LintOptions::default();
        options.min_bytes = 0;
        match compiler.lint(module.clone(), &options) {
            Ok(report) => {
                no_blame("lint", &report.warnings)?;
                trace.pass("lint");
            }
            Err(error) => blame("lint", &error)?,
        }
    }
    if sum % 4 == 3 {
        match compiler.explain(input, "input", &Question::Summary) {
            Ok(report) => {
                let _ = (report.to_text(true), report.to_json());
                trace.pass("explain");
            }
            Err(error) => blame("explain", &error)?,
        }
    }
    let output = match compiler.partition_module(module) {
        Ok(output) => output,
        Err(error) => return trace.refuse_error("partition", &error),
    };
    trace.pass("partition");
    no_blame("warnings", &output.warnings)?;
    if let Err(errors) = shardc_ir::verify(&output.module) {
        let kind = format!("the partitioned program is invalid ({})", errors.first().map_or("", |e| e.code));
        return Err(Finding::new(kind, listed(&errors)));
    }
    reads_back("partitioned", &output.module)?;
    trace.pass("reads back");
    Ok(())
}

fn blame(stage: &str, error: &Error) -> Result<(), Finding> {
    no_blame(stage, &error.diagnostics())
}
