//! Partitions small programs around one operation, runs them, and compares the results.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use shardc::{Compiler, Error, Output, SpmdMode, exec};
use shardc_ir::{Class, DType, DTypeClass, Module};
use shardc_passes::collectives::verify::verify_collectives;
use shardc_runtime::{Client, HostArray, RuntimeError, ShardedArray};

use super::values::filled;
use crate::devices::client;
use crate::fuzz::outcome::{Finding, Trace, listed, quietly, reads_back};
use crate::fuzz::rng::{Rng, hash};

/// The largest difference that flushing denormals may cause: slightly below the smallest normal 32-bit float.
const LEAST: f64 = 1.1e-38;

/// Time limit for shrinking a small program that fails.
const REDUCE: Duration = Duration::from_secs(20);

/// Known failures of XLA's CPU back end: the operation, and part of the error message.
const BACK_END: &[(&str, &str)] = &[
    ("chlo.ragged_dot", "HLO opcode `ragged-dot` is not supported"),
    // The operand may get a layout that the FFT of the back end does not support.
    ("stablehlo.fft", "fft_thunk.cc"),
    ("stablehlo.collective_broadcast", "HLO opcode `collective-broadcast` is not supported"),
    // The operation is newer than the back end's dialect.
    ("chlo.mulhi", "unregistered operation 'chlo.mulhi'"),
    ("stablehlo.real_dynamic_slice", "'stablehlo.real_dynamic_slice' op can't be translated to XLA HLO"),
];

/// A small program around one operation, or several small programs joined into one.
#[derive(Clone, Debug, Default)]
pub(super) struct Program {
    pub(super) op: String,
    notes: Vec<String>,
    mesh: String,
    mode: usize,
    seed: u64,
    /// The arguments: content, and name with type and sharding.
    arguments: Vec<(String, String)>,
    body: String,
    results: Vec<String>,
    functions: String,
}

/// Parses the small programs of a fuzzer input.
pub(super) fn programs(input: &str) -> Vec<Program> {
    let mut all: Vec<Program> = Vec::new();
    let mut common = Program::default();
    for line in input.lines() {
        if let Some(mesh) = line.strip_prefix("// mesh ") {
            mesh.clone_into(&mut common.mesh);
        } else if let Some(mode) = line.strip_prefix("// mode ") {
            common.mode = mode.parse().unwrap_or(0);
        } else if let Some(seed) = line.strip_prefix("// seed ") {
            common.seed = seed.parse().unwrap_or(0);
        } else if let Some(title) = line.strip_prefix("// piece ") {
            let mut words = title.split("; ").filter(|word| !word.is_empty()).map(str::to_owned);
            let op = words.next().unwrap_or_default().trim_end_matches(';').to_owned();
            all.push(Program { op, notes: words.collect(), ..common.clone() });
        } else if let Some(program) = all.last_mut() {
            if let Some(argument) = line.strip_prefix("// argument ") {
                let (fill, text) = argument.split_once("; ").unwrap_or(("wide", argument));
                program.arguments.push((fill.to_owned(), text.to_owned()));
            } else if let Some(result) = line.strip_prefix("// result ") {
                program.results.push(result.to_owned());
            } else if let Some(function) = line.strip_prefix("// function ") {
                program.functions.push_str(function);
                program.functions.push('\n');
            } else {
                program.body.push_str(line);
                program.body.push('\n');
            }
        }
    }
    all
}

impl Program {
    /// The program as StableHLO.
    pub(super) fn text(&self) -> String {
        let arguments: Vec<&str> = self.arguments.iter().map(|(_, text)| text.as_str()).collect();
        let split = |result: &String| {
            let (name, ty) = result.split_once("; ").unwrap_or((result, ""));
            (name.to_owned(), ty.to_owned())
        };
        let results: Vec<(String, String)> = self.results.iter().map(split).collect();
        let names: Vec<&str> = results.iter().map(|(name, _)| name.as_str()).collect();
        let outs: Vec<&str> = results.iter().map(|(_, ty)| ty.as_str()).collect();
        let types: Vec<&str> = outs.iter().map(|ty| ty.split(" {sdy").next().unwrap_or(ty)).collect();
        let returned = match names.is_empty() {
            true => "return".to_owned(),
            false => format!("return {} : {}", names.join(", "), types.join(", ")),
        };
        format!(
            "sdy.mesh @mesh = {}\nfunc.func public @main({}) -> ({}) {{\n{}  {returned}\n}}\n{}",
            self.mesh,
            arguments.join(", "),
            outs.join(", "),
            self.body,
            self.functions
        )
    }

    /// The program in the format of a fuzzer input that contains no other program.
    fn input(&self) -> String {
        let mut out = format!(
            "// mesh {}\n// mode {}\n// seed {}\n// piece {}; {}\n",
            self.mesh,
            self.mode,
            self.seed,
            self.op,
            self.notes.join("; ")
        );
        for (fill, text) in &self.arguments {
            out.push_str(&format!("// argument {fill}; {text}\n"));
        }
        out.push_str(&self.body);
        for result in &self.results {
            out.push_str(&format!("// result {result}\n"));
        }
        for line in self.functions.lines() {
            out.push_str(&format!("// function {line}\n"));
        }
        out
    }

    /// Joins several small programs into one program.
    fn joined(pieces: &[&Program]) -> Program {
        let mut all = pieces.first().map(|&first| first.clone()).unwrap_or_default();
        for piece in pieces.iter().skip(1) {
            all.op = "several".to_owned();
            all.arguments.extend(piece.arguments.iter().cloned());
            all.body.push_str(&piece.body);
            all.results.extend(piece.results.iter().cloned());
            all.functions.push_str(&piece.functions);
        }
        all
    }

    fn compiler(&self) -> Compiler {
        Compiler::new().spmd_mode(if self.mode == 0 { SpmdMode::Replica } else { SpmdMode::Partition })
    }

    /// The tolerance for sums in a different order, which depends on the least precise type in the program.
    fn tolerance(&self) -> f64 {
        let has =
            |elem: &str| self.body.contains(elem) || self.arguments.iter().any(|(_, a)| a.contains(elem));
        match () {
            () if has("f8E") => 2e-1,
            () if has("bf16") || has("xf16") || has("<f16") => 4e-2,
            () => 1e-3,
        }
    }
}

/// A program before and after partitioning.
struct Parts {
    module: Module,
    output: Output,
}

enum Refusal {
    Unsupported(String),
    Finding(Finding),
}

fn finding(kind: impl Into<String>, details: impl Into<String>) -> Refusal {
    Refusal::Finding(Finding::new(kind, details))
}

fn partitioned(program: &Program) -> Result<Parts, Refusal> {
    let text = program.text();
    let shown = |error: &Error| error.render("piece.mlir", &text, false);
    let module = Compiler::read(text.as_bytes())
        .map_err(|error| finding("the generator's text", format!("{}\n{text}", shown(&error))))?;
    if let Err(errors) = shardc_ir::verify(&module) {
        return Err(finding("the generator's program", format!("{}\n{text}", listed(&errors))));
    }
    let output = match program.compiler().partition(text.as_bytes()) {
        Ok(output) => output,
        Err(error) => {
            let class = error.diagnostics().first().map(|d| (d.class, d.code));
            return Err(match class {
                Some((Class::Unsupported, code)) => Refusal::Unsupported(code.to_owned()),
                Some((_, code)) => finding(format!("partition {code}"), format!("{}\n{text}", shown(&error))),
                None => finding("partition", shown(&error)),
            });
        }
    };
    if let Err(errors) = shardc_ir::verify(&output.module) {
        let code = errors.first().map_or("", |e| e.code);
        let details = format!("{}\n{text}\n{}", listed(&errors), output.text());
        return Err(finding(format!("the partitioned program is invalid ({code})"), details));
    }
    if output.num_devices() <= PRINTED {
        reads_back("partitioned", &output.module).map_err(Refusal::Finding)?;
    }
    Ok(Parts { module, output })
}

/// The maximum number of devices for which partitioned programs are printed and parsed again.
const PRINTED: usize = 4096;

/// Partitions each small program of an input, and runs the collective verifier on the result.
pub(in crate::fuzz) fn run_on_many(input: &[u8], trace: &mut Trace) -> Result<(), Finding> {
    let text = String::from_utf8_lossy(input);
    for program in programs(&text) {
        match partitioned(&program) {
            Ok(parts) => {
                let Output { module, interface, .. } = &parts.output;
                let Some(entry) = module.entry() else {
                    return Err(Finding::new("the partitioned program has no entry", program.text()));
                };
                if let Err(errors) = verify_collectives(module, entry, Some(interface)) {
                    let code = errors.first().map_or("", |e| e.code);
                    let details = format!("{}\n{}", listed(&errors), program.text());
                    return Err(Finding::new(
                        format!("collectives do not meet ({code}): {}", program.op),
                        details,
                    ));
                }
                let log = parts.output.num_devices().ilog2() / 4 * 4;
                trace.pass(&format!("on 2^{log} devices and more"));
                trace.pass("pieces partitioned");
            }
            Err(Refusal::Unsupported(code)) => trace.pass(&format!("refused {code}")),
            Err(Refusal::Finding(found)) => {
                return Err(Finding { kind: format!("{}: {}", found.kind, program.op), ..found });
            }
        }
    }
    Ok(())
}

/// Whether an operation named `op` has different sizes after partitioning.
fn is_in_parts(op: &str, parts: &Parts) -> bool {
    let types = |module: &Module| -> BTreeSet<Vec<String>> {
        let all = module.ops.values().filter(|o| o.kind.name() == op);
        let ty = |v: &shardc_ir::ValueId| module.types.display(module.values[*v].ty).to_string();
        all.map(|o| o.operands.iter().chain(&o.results).map(ty).collect()).collect()
    };
    let (before, after) = (types(&parts.module), types(&parts.output.module));
    after.iter().any(|signature| !before.contains(signature))
}

pub(in crate::fuzz) fn run(input: &[u8], trace: &mut Trace) -> Result<(), Finding> {
    let text = String::from_utf8_lossy(input);
    let devices = match client() {
        Ok(Some(devices)) => devices,
        Ok(None) => {
            trace.refused = Some("SKIPPED: there is no CPU plugin".to_owned());
            return Ok(());
        }
        Err(error) => return Err(Finding::new("the CPU plugin does not load", error)),
    };
    let client: &Client = &devices;
    let all = programs(&text);
    let mut found = None;
    let mut good: Vec<&Program> = Vec::new();
    let count = |trace: &mut Trace, program: &Program, how: &str| {
        for note in std::iter::once("").chain(program.notes.iter().map(String::as_str)) {
            trace.pass(&format!("@{}@{note}@{how}", program.op));
        }
        trace.pass(&format!("pieces {how}"));
    };
    for program in &all {
        count(trace, program, "drawn");
        match quietly(|| partitioned(program)) {
            Ok(Ok(parts)) => {
                if quietly(|| is_in_parts(&program.op, &parts)).unwrap_or(false) {
                    count(trace, program, "in parts");
                }
                good.push(program);
            }
            Ok(Err(Refusal::Unsupported(code))) => {
                count(trace, program, "refused");
                trace.pass(&format!("refused {code}"));
            }
            Ok(Err(Refusal::Finding(new))) | Err(new) => {
                found = Some(found.unwrap_or_else(|| smaller(client, program, new)));
            }
        }
    }
    trace.pass("partition");
    let ran = if good.is_empty() { Ok(()) } else { compared(client, &Program::joined(&good)) };
    match ran {
        Ok(()) => good.iter().for_each(|program| count(trace, program, "compared")),
        Err(together) => {
            let mut alone = false;
            for program in &good {
                match compared(client, program) {
                    Ok(()) => count(trace, program, "compared"),
                    Err(Refusal::Unsupported(why)) => {
                        alone = true;
                        count(trace, program, "back end refused");
                        trace.pass(&why);
                    }
                    Err(Refusal::Finding(new)) => {
                        alone = true;
                        found = Some(found.unwrap_or_else(|| smaller(client, program, new)));
                    }
                }
            }
            if let (Refusal::Finding(together), false) = (together, alone) {
                found = found.or(Some(together));
            }
        }
    }
    match found {
        Some(found) => Err(found),
        None => {
            trace.pass("compared");
            Ok(())
        }
    }
}

/// The inputs of a program.
fn inputs(program: &Program, output: &Output) -> Result<Vec<HostArray>, RuntimeError> {
    let ports = output.interface.inputs.iter().zip(&program.arguments);
    let array = |(tensor, (fill, text)): (
        &shardc_passes::sharding::interface::InterfaceTensor,
        &(String, String),
    )| {
        let shape: Vec<usize> =
            tensor.global.shape.iter().map(|&n| usize::try_from(n).unwrap_or(0)).collect();
        // The input values depend only on the seed and on this operation's text, not on the rest of the program.
        let mut rng = Rng::new("values", hash(&[program.seed], text), 0);
        filled(fill, tensor.global.dtype, &shape, &mut rng)
    };
    ports.map(array).collect()
}

/// The padding value of an argument.
fn padding(dtype: DType) -> f64 {
    match dtype.class() {
        DTypeClass::Float | DTypeClass::Complex => f64::NAN,
        DTypeClass::Bool => 1.0,
        DTypeClass::Signed | DTypeClass::Unsigned => 1e18,
    }
}

fn results(client: &Client, output: &Output, inputs: &[HostArray]) -> Result<Vec<HostArray>, Error> {
    let program = exec::Program::partitioned(client, output)?;
    let devices = program.executable().devices();
    let arrays = program.inputs().iter().zip(inputs).map(|(port, array)| {
        let buffers = devices.iter().enumerate().map(|(d, device)| {
            let block = port.layout.shard_padded(array, d, padding(array.dtype))?;
            client.buffer_from_host(&block, device)
        });
        ShardedArray::from_buffers(port.layout.clone(), buffers.collect::<Result<_, RuntimeError>>()?)
    });
    let arrays: Vec<ShardedArray> = arrays.collect::<Result<_, RuntimeError>>()?;
    let results = program.step(&arrays)?;
    Ok(results.iter().map(ShardedArray::to_host).collect::<Result<_, RuntimeError>>()?)
}

/// Runs a program on its devices and on one device, and compares the results.
fn compared(client: &Client, program: &Program) -> Result<(), Refusal> {
    let parts = quietly(|| partitioned(program)).map_err(Refusal::Finding)??;
    let (text, lowered) = (program.text(), parts.output.text());
    let back_end = |error: &Error, what: &str| {
        let shown = error.to_string();
        match BACK_END.iter().find(|(op, known)| *op == program.op && shown.contains(known)) {
            Some((_, known)) => Refusal::Unsupported(format!("back end: {}", known.replace(['@', ','], " "))),
            None => {
                let first: String = shown.lines().next().unwrap_or_default().chars().take(200).collect();
                finding(format!("{what}: {first}"), format!("{shown}\n{text}\n{lowered}"))
            }
        }
    };
    let inputs = inputs(program, &parts.output).map_err(|e| back_end(&e.into(), "inputs"))?;
    let expected = exec::Program::single(client, &parts.module)
        .and_then(|single| single.run(client, &inputs))
        .map_err(|e| back_end(&e, "on one device"))?;
    let got = results(client, &parts.output, &inputs).map_err(|e| back_end(&e, "run"))?;
    for (index, (expected, got)) in expected.iter().zip(&got).enumerate() {
        let is_rounded = matches!(expected.dtype.class(), DTypeClass::Float | DTypeClass::Complex);
        let tolerance = if is_rounded { program.tolerance() } else { 0.0 };
        match HostArray::compare(expected, got) {
            Ok(difference) if difference.within(tolerance) => {}
            // Depending on fusion, the back end flushes denormals to zero.
            Ok(difference) if is_rounded && difference.mismatches == 0 && difference.max_abs < LEAST => {}
            difference => {
                let details = format!("result {index}: {difference:?}\n{text}\n{lowered}");
                return Err(finding("wrong values", details));
            }
        }
    }
    Ok(())
}

/// Shrinks the program of a finding, and returns the finding of the smallest program.
fn smaller(client: &Client, program: &Program, first: Finding) -> Finding {
    let until = Instant::now() + REDUCE;
    let try_one = |candidate: &Program| -> Option<Finding> {
        let done =
            quietly(|| partitioned(candidate).map(|_| ())).map_err(Refusal::Finding).and_then(|done| done);
        match done.and_then(|()| compared(client, candidate)) {
            Err(Refusal::Finding(new)) if new.kind == first.kind => Some(new),
            _ => None,
        }
    };
    let (mut best, mut best_finding) = (program.clone(), first.clone());
    let mut at = 0;
    loop {
        let mut candidate = best.clone();
        let results = candidate.results.len();
        let arguments = candidate.arguments.len();
        let plain = |text: &mut String| match text.find(" {sdy") {
            Some(end) => {
                text.truncate(end);
                true
            }
            None => false,
        };
        let changed = if at < results {
            results > 1 && {
                candidate.results.remove(at);
                true
            }
        } else if at < 2 * results {
            plain(&mut candidate.results[at - results])
        } else if at < 2 * results + arguments {
            plain(&mut candidate.arguments[at - 2 * results].1)
        } else if at == 2 * results + arguments {
            without_annotations(&mut candidate.body)
        } else {
            break;
        };
        if Instant::now() > until {
            break;
        }
        match changed.then(|| try_one(&candidate)).flatten() {
            Some(new) => {
                // If a result was removed, the next candidate has the same index.
                at = if candidate.results.len() < results { at } else { at + 1 };
                (best, best_finding) = (candidate, new);
            }
            None => at += 1,
        }
    }
    Finding {
        kind: format!("{}: {}", first.kind, program.op),
        details: format!("{}\nas an input:\n{}", best_finding.details, best.input()),
    }
}

/// Removes the annotations of operations from a body; returns whether there were any.
fn without_annotations(body: &mut String) -> bool {
    let before = body.len();
    while let Some(start) = body.find(" {sdy.sharding = #sdy.sharding_per_value") {
        let Some(end) = body[start..].find(" : (").map(|n| start + n) else { break };
        body.replace_range(start..end, "");
    }
    body.len() != before
}
