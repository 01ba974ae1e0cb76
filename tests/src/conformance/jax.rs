//! All checks of the programs that `conformance/jax/export.py` wrote.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use shardc::Compiler;
use shardc::autodiff::{self, Derivative, Request};
use shardc_stablehlo::{PrintOptions, parse, print, render};

use super::{
    Answer, Devices, Outcome,
    peer::{Opinion, Peer},
    verify::Verify,
};
use crate::root;

/// The SPMD modes, as options name them.
const MODES: [&str; 2] = ["replica", "partition"];

/// The checks in order.
pub const CHECKS: [&str; 9] = [
    "printed",
    "printed with locations",
    "replica",
    "replica peer",
    "replica values",
    "partition",
    "partition peer",
    "partition values",
    "gradient",
];

/// Writes the programs lowered by the JAX of `python` to `folder`, and returns the manifest. `only` selects names by substrings; if
/// empty, all are written.
///
/// # Errors
/// A program cannot be lowered, or the Python has no JAX.
pub fn export(python: &Path, folder: &Path, only: &[&str]) -> Result<Value, String> {
    let mut command = Command::new(python);
    command.arg(root().join("conformance/jax/export.py")).arg(folder);
    if !only.is_empty() {
        command.arg("--only").args(only);
    }
    let output = command.output().map_err(|error| format!("{}: {error}", python.display()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let manifest = folder.join("manifest.json");
    let text = fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", manifest.display()))
}

/// The result of a check of a program.
enum Check {
    Passed,
    /// The check does not apply, for this reason.
    Skipped(String),
    Failed(String),
}

impl From<Result<(), String>> for Check {
    fn from(result: Result<(), String>) -> Check {
        result.map_or_else(Check::Failed, |()| Check::Passed)
    }
}

/// One program of the manifest.
struct Program<'j> {
    folder: PathBuf,
    entry: &'j Value,
}

impl Program<'_> {
    fn file(&self, end: &str) -> PathBuf {
        let text = |name: &str| self.entry[name].as_str().unwrap_or_default();
        self.folder.join(text("kind")).join(format!("{}{end}.mlir", text("name")))
    }
}

/// Runs all checks of `{"folder", "program" (an entry of the manifest), "out" (a folder)}`. The answer's figure `checks` has `[name,
/// "passed" | "skipped" | "failed", message]` for each of [`CHECKS`].
pub(super) fn answer(job: &Value, peer: &mut Peer, verify: &mut Verify, devices: &mut Devices) -> Answer {
    let path = |name: &str| PathBuf::from(job[name].as_str().unwrap_or_default());
    let program = Program { folder: path("folder"), entry: &job["program"] };
    let out = path("out");
    let mut checks = vec![printed(&program.file("")).into()];
    checks.push(match program.entry["debug"] == true {
        true => printed(&program.file(".debug")).into(),
        false => Check::Skipped("the exporter gives a text".to_owned()),
    });
    let compiles = matches!(peer.original(&program.file("")), Opinion::Accepted);
    for mode in MODES {
        checks.extend(partitioned(&program, mode, &out, compiles, peer, verify, devices));
    }
    checks.push(gradient(&program, &out, peer));
    let mut failed = 0;
    let figures: Vec<Value> = CHECKS
        .iter()
        .zip(checks)
        .map(|(name, check)| match check {
            Check::Passed => json!([name, "passed", ""]),
            Check::Skipped(why) => json!([name, "skipped", why]),
            Check::Failed(message) => {
                failed += 1;
                json!([name, "failed", message])
            }
        })
        .collect();
    let outcome = if failed == 0 { Outcome::Equal } else { Outcome::Wrong };
    Answer { outcome, message: String::new(), figures: vec![("checks", json!(figures))] }
}

/// jaxlib's MLIR text parses, verifies, and prints unchanged.
fn printed(file: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let module = parse(&text)
        .and_then(|module| shardc_ir::verify(&module).map(|()| module))
        .map_err(|errors| render(&errors, &name, &text, false))?;
    let printed =
        print(&module, &PrintOptions { locations: text.contains("loc("), ..PrintOptions::default() });
    if printed == text {
        return Ok(());
    }
    let differs = printed.lines().zip(text.lines()).find(|(ours, theirs)| ours != theirs);
    let (ours, theirs) = differs.unwrap_or(("", "(one text is longer)"));
    Err(format!("printed `{}` for `{}`", ours.trim(), theirs.trim()))
}

/// Partitions a program in one mode, checks the output with jaxlib, and compares the values.
fn partitioned(
    program: &Program<'_>,
    mode: &str,
    out: &Path,
    compiles: bool,
    peer: &mut Peer,
    verify: &mut Verify,
    devices: &mut Devices,
) -> [Check; 3] {
    let file = program.file("");
    let job = json!({ "file": file, "mesh": program.entry["mesh"], "mode": mode, "out": out });
    let answer = verify.answer(&job, devices);
    let is_written = answer.figures.iter().any(|(name, value)| *name == "written" && *value == true);
    if !is_written {
        let none = || Check::Skipped("not partitioned".to_owned());
        return [Check::Failed(answer.message), none(), none()];
    }
    let accepted = accepted(&peer.partition(out, None), compiles);
    let why_not = program.entry["values"].as_str().unwrap_or_default();
    let values = match (answer.outcome, why_not) {
        (Outcome::Equal, _) => Check::Passed,
        (_, why) if !why.is_empty() => Check::Skipped(why.to_owned()),
        (Outcome::Wrong | Outcome::Refused, _) => Check::Failed(answer.message),
        // The plugin lacks a feature, such as LAPACK, that jaxlib may have, so jaxlib runs the program.
        (Outcome::Failed, _) if compiles => match peer.partition(out, Some(&file)) {
            Opinion::Accepted => Check::Passed,
            Opinion::Refused { stage, message } => {
                Check::Failed(format!("{}; jaxlib: {stage}: {message}", answer.message))
            }
        },
        (Outcome::Failed, _) => Check::Skipped("neither client runs the original".to_owned()),
    };
    [Check::Passed, accepted, values]
}

/// Returns the reason why JAX rejects a partitioned program, or `None` if the program parses and verifies, and compiles if the original
/// does.
pub(super) fn refusal(opinion: &Opinion, compiles: bool) -> Option<String> {
    match opinion {
        Opinion::Accepted => None,
        Opinion::Refused { stage, .. } if stage == "compile" && !compiles => None,
        Opinion::Refused { stage, message } => Some(format!("{stage}: {message}")),
    }
}

fn accepted(opinion: &Opinion, compiles: bool) -> Check {
    refusal(opinion, compiles).map_or(Check::Passed, Check::Failed)
}

/// Compares the gradient of the program's loss with JAX's.
fn gradient(program: &Program<'_>, out: &Path, peer: &mut Peer) -> Check {
    let arguments = program.entry["gradient"].as_array();
    let Some(arguments) = arguments else {
        return Check::Skipped("no gradient is asked for".to_owned());
    };
    let wrt: Vec<usize> =
        arguments.iter().filter_map(|n| n.as_u64().and_then(|n| n.try_into().ok())).collect();
    let candidate = out.join("gradient.mlir");
    let reference = program.file(".grad");
    if let Err(message) = differentiate(&program.file(".loss"), &wrt, &candidate) {
        return Check::Failed(message);
    }
    match peer.gradient(&reference, &candidate, program.entry["rtol"].as_f64().unwrap_or_default()) {
        Opinion::Accepted => Check::Passed,
        Opinion::Refused { .. } if !matches!(peer.original(&reference), Opinion::Accepted) => {
            Check::Skipped("jaxlib does not compile JAX's gradient".to_owned())
        }
        Opinion::Refused { stage, message } => Check::Failed(format!("{stage}: {message}")),
    }
}

fn differentiate(file: &Path, wrt: &[usize], out: &Path) -> Result<(), String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let rendered = |error: shardc::Error| {
        error.render(&file.file_name().unwrap_or_default().to_string_lossy(), &text, false)
    };
    let mut module = Compiler::read(text.as_bytes()).map_err(rendered)?;
    let request = Request { value: true, ..Request::new(Derivative::Gradient, wrt, &[0]) };
    autodiff::differentiate(&mut module, &request).map_err(rendered)?;
    fs::create_dir_all(out.parent().unwrap_or(out))
        .and_then(|()| fs::write(out, print(&module, &PrintOptions::default())))
        .map_err(|error| format!("{}: {error}", out.display()))
}
