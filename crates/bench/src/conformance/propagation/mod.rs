//! Compares propagation with Shardy's on every program of the corpus.
//!
//! Shardings of arguments, results and constraints must be equal in two comparisons:
//!
//! * With only the sharding rules that Shardy has ([`RuleSet::Shardy`]). If the shardings differ, Shardy propagates the program again with
//!   inlined calls, because it may drop a call in a loop if the call's operand is sharded later.
//! * With all of shardc's rules, which also propagate through CHLO. Shardy's passes do not propagate through CHLO, but XLA expands CHLO
//!   before it runs Shardy. A result that differs from Shardy's passes is correct if XLA shards the result as shardc does.
//!
//! Shardings of intermediate values may differ; differences are counted by kind. If an intermediate value differs, the program is
//! partitioned with shardc's shardings and with Shardy's. The partition with shardc's shardings must not send more bytes. Expected
//! differences are listed in `tests/conformance/propagation.txt`.

mod numbers;
mod peer;
mod xla;

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail};
use shardc_filetest::files;
use shardc_ir::{Diagnostic, Module};
use shardc_passes::{
    driver::strategy::bytes_sent,
    driver::{context::PassContext, partition::partition_propagated},
    gspmd::{import_gspmd, is_annotated},
    propagate::{PropagateOptions, propagate},
    rules::RuleSet,
    transforms::inline::inline_calls,
};
use shardc_stablehlo::{PrintOptions, parse, print, render};

use self::{
    numbers::{Constraints, Found, find, number, take_over},
    peer::Peer,
};
use super::{ConformanceArgs, exceptions::Exceptions, tools::in_parallel};
use xtask::{process, python, workspace::Workspace};

/// The differences of a program: for each, the name of the differing value and a description.
type Differences = Vec<(String, String)>;

/// The outcome of a program.
struct Outcome {
    /// Differences of arguments, results and constraints if shardc uses only the sharding rules that Shardy has.
    wrong_by_its_rules: Differences,
    /// Whether the shardings were also compared with Shardy's propagation of the program with inlined calls.
    without_calls: bool,
    /// Differences of arguments, results and constraints if shardc uses all of its sharding rules, and [`BYTES`] if it sends more bytes.
    wrong: Differences,
    /// Number of results that differ from Shardy's passes alone but agree with XLA.
    as_xla: usize,
    /// Number of intermediate values. `classes` maps each kind of difference to the values that differ in this way.
    values: usize,
    classes: BTreeMap<String, Vec<String>>,
    /// Bytes sent with shardc's shardings and with Shardy's, if intermediate values differ.
    costs: Option<Result<(u64, u64), String>>,
}

/// The prefix of the name of a differing result; its index follows.
const RESULT: &str = "result";

/// The name of the difference if shardc sends more bytes.
const BYTES: &str = "bytes";

/// Compares all programs; prints the differences.
pub(super) fn run(workspace: &Workspace, root: &Path, args: &ConformanceArgs) -> Result<()> {
    let tool = root.join("tools/shardy_pipeline.py");
    if !tool.is_file() {
        bail!("cannot find {}", tool.display());
    }
    let exceptions = Exceptions::read(&workspace.root.join("tests/conformance/propagation.txt"))?;
    let python = python::with_jax(args.python.as_deref())?;
    let peer = Peer { python, tool, dir: workspace.scratch("shardy")? };
    let mut paths = files(&root.join("corpus/jax"), "mlir").context("reading the corpus")?;
    let relative = |path: &Path| path.strip_prefix(root).unwrap_or(path).display().to_string();
    paths.retain(|path| args.wants(&relative(path)));
    let title = format!("propagate {} programs and compare them with Shardy", paths.len());
    let outcomes =
        process::step(&title, || Ok(in_parallel(&paths, |_, path: &PathBuf| compare(&peer, path))))?;

    let mut tally = Tally::default();
    for (path, outcome) in paths.iter().zip(outcomes) {
        tally.add(relative(path), outcome?, &exceptions);
    }
    tally.print(args.verbose);
    // An exception is stale if no program that it covers needs it. With filters, some of these programs may not have been checked, so stale
    // exceptions are not reported.
    let stale: Vec<usize> =
        tally.covered.difference(&tally.used).copied().filter(|_| args.filters.is_empty()).collect();
    for &line in &stale {
        println!("   {}: listed as an exception, but nothing differs", exceptions.line(line).0);
    }
    match tally.unexpected.len() + stale.len() {
        0 => Ok(()),
        n => bail!("{n} unexpected differences or stale lines of tests/conformance/propagation.txt"),
    }
}

/// The outcomes of all programs.
#[derive(Default)]
struct Tally {
    compared: usize,
    /// Number of programs whose shardings are equal if shardc uses only the sharding rules that Shardy has.
    equal_by_its_rules: usize,
    /// Programs that Shardy also propagated with inlined calls.
    without_calls: Vec<String>,
    /// Number of programs whose shardings are equal to those of Shardy's passes. `as_xla` lists programs with results that differ from
    /// these but agree with XLA.
    equal: usize,
    as_xla: Vec<String>,
    /// Programs that Shardy rejects, with reasons. `not_planned` has those that the planner rejects.
    refused: Vec<String>,
    not_planned: Vec<String>,
    /// Number of expected differences. `unexpected` has the others.
    listed: usize,
    unexpected: Vec<String>,
    /// The indices of the exceptions whose programs were compared. `used` has those that permitted a difference.
    covered: BTreeSet<usize>,
    used: BTreeSet<usize>,
    values: usize,
    /// Maps each kind of difference to the number of differing values, and an example from each program.
    classes: BTreeMap<String, (usize, Vec<String>)>,
    costs: Vec<(String, (u64, u64))>,
}

impl Tally {
    fn add(&mut self, name: String, outcome: Result<Outcome, String>, exceptions: &Exceptions) {
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(message) => return self.refused.push(format!("{name}: {message}")),
        };
        self.compared += 1;
        self.equal_by_its_rules += usize::from(outcome.wrong_by_its_rules.is_empty());
        self.without_calls.extend(outcome.without_calls.then(|| name.clone()));
        let differences = outcome.wrong_by_its_rules.into_iter();
        self.unexpected
            .extend(differences.map(|(what, how)| format!("{name}#{what}: {how} (with Shardy's rules)")));
        if outcome.wrong.iter().all(|(what, _)| what == BYTES) && outcome.as_xla == 0 {
            self.equal += 1;
        }
        if outcome.as_xla > 0 {
            let others = match outcome.wrong.len() {
                0 => String::new(),
                n => format!(", {n} are not"),
            };
            self.as_xla.push(format!("{name}: {} results{others}", outcome.as_xla));
        }
        self.values += outcome.values;
        for (class, different) in outcome.classes {
            let entry = self.classes.entry(class).or_default();
            entry.0 += different.len();
            entry.1.push(format!("{name}: {}", different.first().map_or("", |first| first)));
        }
        self.covered.extend(exceptions.about(&name));
        for (what, how) in outcome.wrong {
            match exceptions.find(&name, &what) {
                Some(line) => {
                    self.used.insert(line);
                    self.listed += 1;
                }
                None => self.unexpected.push(format!("{name}#{what}: {how}")),
            }
        }
        match outcome.costs {
            Some(Ok(costs)) => self.costs.push((name, costs)),
            Some(Err(message)) => self.not_planned.push(format!("{name}: {message}")),
            None => {}
        }
    }

    fn print(&self, verbose: bool) {
        let all = |lines: &[String]| lines.iter().for_each(|line| println!("   {line}"));
        println!(
            "\nequal arguments, results and constraints with Shardy's rules: {} of {} programs",
            self.equal_by_its_rules, self.compared
        );
        println!(
            "compared with Shardy's propagation of the program with inlined calls: {}",
            self.without_calls.len()
        );
        all(&self.without_calls);
        println!("equal with all rules: {} of {}", self.equal, self.compared);
        println!("programs with other results that agree with XLA's use of Shardy: {}", self.as_xla.len());
        all(&self.as_xla);
        println!("expected differences: {}; unexpected: {}", self.listed, self.unexpected.len());
        all(&self.unexpected);
        println!("programs that Shardy rejects: {}", self.refused.len());
        all(&self.refused);
        let differ: usize = self.classes.values().map(|(count, _)| count).sum();
        println!("intermediate values that differ: {differ} of {}; by class:", self.values);
        let mut by_count: Vec<_> = self.classes.iter().collect();
        by_count.sort_by_key(|(class, (count, _))| (Reverse(*count), *class));
        for (class, (count, examples)) in by_count {
            println!("   {count:>6} in {:>3} programs: {class}", examples.len());
            for example in examples.iter().filter(|_| verbose) {
                println!("          {example}");
            }
        }
        println!(
            "bytes sent with shardc's and with Shardy's shardings, for {} programs with different intermediate values:",
            self.costs.len()
        );
        for (name, (ours, theirs)) in &self.costs {
            println!("   {ours:>14} {theirs:>14}  {name}");
        }
        if !self.not_planned.is_empty() {
            println!("other programs, for which the planner rejects shardc's or Shardy's shardings:");
            all(&self.not_planned);
        }
    }
}

/// Compares shardc's propagation of a program with Shardy's. The inner error is Shardy's message.
fn compare(peer: &Peer, path: &Path) -> Result<Result<Outcome, String>> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let text = fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let failed =
        |errors: Vec<Diagnostic>| anyhow::anyhow!("{name}: {}", render(&errors, &name, &text, false));
    let mut module = parse(&text).map_err(failed)?;
    if is_annotated(&module) {
        import_gspmd(&mut module, None).map_err(failed)?;
    }
    number(&mut module);
    let propagated = match peer.propagate(&name, &print(&module, &PrintOptions::default()))? {
        Ok(propagated) => propagated,
        Err(message) => return Ok(Err(message)),
    };
    inline_calls(&mut module).map_err(failed)?;
    let mut by_its_rules = module.clone();
    let text_without_calls = print(&module, &PrintOptions::default());
    let options = PropagateOptions { rules: RuleSet::Shardy, ..PropagateOptions::default() };
    propagate(&mut by_its_rules, &options).map_err(failed)?;
    propagate(&mut module, &PropagateOptions::default()).map_err(failed)?;

    let failed = |errors: Vec<Diagnostic>| {
        anyhow::anyhow!("{name}, from Shardy: {}", render(&errors, &name, &propagated, false))
    };
    let mut theirs = parse(&propagated).map_err(failed)?;
    inline_calls(&mut theirs).map_err(failed)?;
    let (ours_found, theirs_found) =
        (find(&module, Constraints::Numbered), find(&theirs, Constraints::Reshards));
    let by_its_rules = find(&by_its_rules, Constraints::Numbered);
    let mut wrong_by_its_rules = boundary(&by_its_rules, &theirs_found);
    let without_calls = !wrong_by_its_rules.is_empty();
    if without_calls && let Ok(program) = peer.propagate(&name, &text_without_calls)? {
        let theirs = parse(&program).map_err(failed)?;
        wrong_by_its_rules = boundary(&by_its_rules, &find(&theirs, Constraints::Reshards));
    }
    let mut wrong = boundary(&ours_found, &theirs_found);
    let differences = wrong.len();
    if wrong.iter().any(|(what, _)| what.starts_with(RESULT)) {
        let same = xla::agreeing_results(peer, path, &module)?;
        wrong.retain(|(what, _)| !same.iter().any(|i| *what == format!("{RESULT} {i}")));
    }
    let as_xla = differences - wrong.len();
    let (values, classes) = between(&module, &ours_found, &theirs_found);
    let mut costs = None;
    if !classes.is_empty() {
        let mut with_theirs = module.clone();
        for (number, ops) in &ours_found.ops {
            let others = theirs_found.ops.get(number).map(Vec::as_slice).unwrap_or_default();
            for (&ours, &other) in ops.iter().zip(others) {
                take_over(&mut with_theirs, ours, &theirs, other);
            }
        }
        let both = sent(module).and_then(|ours| Ok((ours, sent(with_theirs)?)));
        if let Ok((ours, theirs)) = both
            && ours > theirs
        {
            wrong.push((
                BYTES.to_owned(),
                format!("{ours} bytes sent with shardc's shardings, {theirs} with Shardy's"),
            ));
        }
        costs = Some(both.map_err(|errors| errors.first().map_or_else(String::new, ToString::to_string)));
    }
    Ok(Ok(Outcome { wrong_by_its_rules, without_calls, wrong, as_xla, values, classes, costs }))
}

/// The differences of arguments, results and constraints.
fn boundary(ours: &Found, theirs: &Found) -> Differences {
    let mut out = Vec::new();
    for (what, ours, theirs) in
        [("argument", &ours.args, &theirs.args), (RESULT, &ours.results, &theirs.results)]
    {
        if ours.len() != theirs.len() {
            out.push((
                what.to_owned(),
                format!("{} in shardc's program, {} in Shardy's", ours.len(), theirs.len()),
            ));
        }
        for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate().filter(|(_, (a, b))| a != b) {
            out.push((format!("{what} {i}"), format!("shardc has {ours}, Shardy has {theirs}")));
        }
    }
    for (place, ours) in &ours.constraints {
        let theirs = theirs.constraints.get(place).map(Vec::as_slice).unwrap_or_default();
        let mut rest = theirs.to_vec();
        let missing = ours.iter().any(|text| match rest.iter().position(|t| t == text) {
            Some(at) => {
                rest.swap_remove(at);
                false
            }
            None => true,
        });
        if missing {
            let (ours, theirs) = (ours.join("; "), theirs.join("; "));
            out.push((format!("constraint on {place}"), format!("shardc has {ours}, Shardy has {theirs}")));
        }
    }
    out
}

/// The number of intermediate values, and those that differ, grouped by the operation and by the compiler that shards the value by more
/// axes.
fn between(module: &Module, ours: &Found, theirs: &Found) -> (usize, BTreeMap<String, Vec<String>>) {
    let mut classes: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut values = 0;
    for (number, texts) in &ours.values {
        let others = theirs.values.get(number).map(Vec::as_slice).unwrap_or_default();
        values += texts.len();
        let kind =
            ours.ops.get(number).and_then(|ops| ops.first()).map_or("?", |&op| module.ops[op].kind.name());
        if texts.len() == others.len() {
            for (ours, theirs) in texts.iter().zip(others).filter(|(a, b)| a != b) {
                let axes = |text: &str| text.matches('"').count();
                let how = match axes(ours).cmp(&axes(theirs)) {
                    std::cmp::Ordering::Less => "sharded by more axes in Shardy",
                    std::cmp::Ordering::Equal => "sharded by different axes",
                    std::cmp::Ordering::Greater => "sharded by more axes in shardc",
                };
                let different = format!("operation {number}: shardc has {ours}, Shardy has {theirs}");
                classes.entry(format!("{kind}, {how}")).or_default().push(different);
            }
            continue;
        }
        // Compilers may copy constants. The shardings of copies are compared as a set, because the number of copies does not matter.
        let set = |texts: &[String]| texts.iter().cloned().collect::<BTreeSet<String>>();
        let (ours, theirs) = (set(texts), set(others));
        if ours != theirs {
            let how = if others.is_empty() { "removed by Shardy" } else { "different copies" };
            let different = format!("operation {number}: shardc has {ours:?}, Shardy has {theirs:?}");
            classes.entry(format!("{kind}, {how}")).or_default().push(different);
        }
    }
    (values, classes)
}

/// The bytes that the partitioned program sends.
fn sent(mut module: Module) -> Result<u64, Vec<Diagnostic>> {
    if module.entry().is_none() {
        return Ok(0);
    }
    partition_propagated(&mut module, &PassContext::default())?;
    Ok(bytes_sent(&module))
}
