//! Passes in any order, with any options.
//!
//! The first line of an input lists the passes in the syntax of `shardc opt --passes`; the program follows.

use shardc_ir::SpmdMode;
use shardc_passes::driver::pass_options::PassOptions;
use shardc_passes::driver::passes::{PASSES, Pass, PassContext};
use shardc_shardy::find;
use shardc_stablehlo::parse;

use super::mutate::annotate;
use super::outcome::{Finding, Trace, reads_back};
use super::rng::Rng;
use super::sources::{Level, Sources};
use super::text::gentle_and_valid;

/// The prefix of the first line of a fuzzer input, which lists the passes.
const PASSES_LINE: &str = "// passes: ";

pub(super) fn draw(sources: &Sources, rng: &mut Rng) -> Vec<u8> {
    let mut text = match rng.below(4) {
        0 => rng.program(),
        _ => sources.text(rng, Level::Partitions).text().to_owned(),
    };
    if let Some(annotated) = annotate(&text, rng) {
        text = annotated;
    }
    if rng.one_in(2) {
        text = gentle_and_valid(text, rng);
    }
    let words: Vec<String> = sequence(rng).into_iter().map(|pass| word(pass, rng)).collect();
    format!("{PASSES_LINE}{}\n{text}", words.join(",")).into_bytes()
}

/// A pass sequence: the compiler's own with some passes removed, repeated or moved, or any passes in any order.
fn sequence(rng: &mut Rng) -> Vec<&'static Pass> {
    let all: Vec<&Pass> = PASSES.iter().chain(shardc_shardy::passes()).collect();
    if rng.one_in(2) {
        return (0..1 + rng.below(7)).map(|_| rng.of(&all)).collect();
    }
    let mut own: Vec<&Pass> = PASSES.iter().collect();
    if rng.one_in(2) {
        own.truncate(1 + rng.below(own.len()));
    }
    for _ in 0..1 + rng.below(4) {
        let (at, other) = (rng.below(own.len()), rng.below(own.len()));
        match rng.below(4) {
            0 => drop(own.remove(at)),
            1 => own.insert(at, rng.of(&all)),
            2 => own.insert(at, own[other]),
            _ => own.swap(at, other),
        }
        if own.is_empty() {
            break;
        }
    }
    own
}

/// A pass with random options.
fn word(pass: &Pass, rng: &mut Rng) -> String {
    let mut given = Vec::new();
    for option in pass.options {
        if rng.one_in(3) {
            given.push(format!("{}={}", option.name, rng.of(option.values)));
        }
    }
    match given.is_empty() {
        true => pass.name.to_owned(),
        false => format!("{}{{{}}}", pass.name, given.join(" ")),
    }
}

/// Parses a pass in the syntax of [`word`].
fn step(word: &str) -> Option<(&'static Pass, PassOptions)> {
    let (name, options) = word.split_once('{').unwrap_or((word, ""));
    let pass = find(name.trim())?;
    Some((pass, PassOptions::parse(options.trim_end_matches('}'), pass.options).ok()?))
}

pub(super) fn run(input: &[u8], trace: &mut Trace) -> Result<(), Finding> {
    let text = String::from_utf8_lossy(input);
    let first = text.lines().next().and_then(|line| line.strip_prefix(PASSES_LINE));
    let steps: Option<Vec<_>> = first.map(|line| line.split(',').filter_map(step).collect());
    let Some(steps) = steps else {
        trace.refused = Some("no line of passes".to_owned());
        return Ok(());
    };
    let mut module = match parse(&text) {
        Ok(module) => module,
        Err(errors) => return trace.refuse("read", &errors),
    };
    if let Err(errors) = shardc_ir::verify(&module) {
        return trace.refuse("verify", &errors);
    }
    trace.pass("verify");
    for (n, (pass, options)) in steps.iter().enumerate() {
        let mode = if text.len().is_multiple_of(2) { SpmdMode::Replica } else { SpmdMode::Partition };
        let mut context = PassContext::new(mode, options.clone());
        if let Err(errors) = pass.run(&mut module, &mut context) {
            // `verify-collectives` checks shardc's own output, but here its input is arbitrary.
            if pass.name == "verify-collectives" {
                trace.refused = Some(format!("{} {}", pass.name, errors.first().map_or("", |e| e.code)));
                return Ok(());
            }
            return trace.refuse(pass.name, &errors);
        }
        // Preconditions of passes are checked as far as possible. If an unusual sequence produces an invalid module, `opt` reports this
        // with the pass; it must not be reported as an internal error of shardc.
        if let Err(errors) = shardc_ir::verify(&module) {
            return trace.refuse(&format!("after {}:", pass.name), &errors);
        }
        if n < 3 {
            trace.pass(["1 pass", "2 passes", "3 passes"][n]);
        }
    }
    trace.pass("all passes");
    reads_back("passes", &module)
}
