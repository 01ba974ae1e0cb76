//! Runs a program of the corpus on one device and partitioned, and compares both like `shardc verify`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use shardc::{Compiler, Error, Output, SpmdMode, exec};
use shardc_ir::Module;
use shardc_runtime::HostArray;

use super::{Answer, Devices, Outcome};

/// A cache of the last program and its results on one device.
#[derive(Default)]
pub(super) struct Verify {
    known: Option<Known>,
}

struct Known {
    file: PathBuf,
    source: String,
    original: Module,
    /// The program's results on one device, or the reason why there are none; cached on first use.
    expected: Option<Result<Reference, String>>,
}

struct Reference {
    inputs: Vec<HostArray>,
    outputs: Vec<HostArray>,
}

impl Verify {
    /// `{"file", "mesh" (or null), "mode", "out" (a folder, or null)}`: partitions the file on the mesh, writes the program (for a back
    /// end, and as text) and its manifest to the folder, runs it and compares.
    pub(super) fn answer(&mut self, job: &Value, devices: &mut Devices) -> Answer {
        match self.try_answer(job, devices) {
            Ok(answer) | Err(answer) => answer,
        }
    }

    fn try_answer(&mut self, job: &Value, devices: &mut Devices) -> Result<Answer, Answer> {
        let text = |name: &str| job[name].as_str();
        let file = Path::new(text("file").unwrap_or_default());
        let failed = |message: String| Answer::new(Outcome::Failed, message);
        let known = match self.known.take().filter(|known| known.file == file) {
            Some(known) => known,
            None => Known::read(file)?,
        };
        let known = self.known.insert(known);
        let mode = match text("mode") {
            Some("partition") => SpmdMode::Partition,
            _ => SpmdMode::Replica,
        };
        let refused = |error: Error| refusal(&error, file, &known.source);
        let mut compiler = Compiler::new().spmd_mode(mode);
        if let Some(mesh) = text("mesh") {
            compiler = compiler.mesh(mesh).map_err(refused)?;
        }
        let output = compiler.partition_module(known.original.clone()).map_err(refused)?;
        if let Some(out) = text("out") {
            write(&output, Path::new(out)).map_err(failed)?;
        }
        let written = text("out").is_some();
        let done = known.compare(&output, devices);
        let mut answer = done.unwrap_or_else(failed);
        answer.figures.push(("written", json!(written)));
        answer.figures.push(("warnings", json!(output.warnings.len())));
        Ok(answer)
    }
}

impl Known {
    fn read(file: &Path) -> Result<Known, Answer> {
        let failed = |e: std::io::Error| Answer::new(Outcome::Failed, format!("{}: {e}", file.display()));
        let bytes = fs::read(file).map_err(failed)?;
        let source = String::from_utf8_lossy(&bytes).into_owned();
        let original = Compiler::read(&bytes).map_err(|error| refusal(&error, file, &source))?;
        Ok(Known { file: file.to_owned(), source, original, expected: None })
    }

    fn compare(&mut self, output: &Output, devices: &mut Devices) -> Result<Answer, String> {
        let client = devices.at_least(output.num_devices())?;
        let run = || {
            let inputs = exec::random_inputs(&output.interface, 0)?;
            let outputs = exec::Program::single(client, &self.original)?.run(client, &inputs)?;
            Ok(Reference { inputs, outputs })
        };
        let expected = self
            .expected
            .get_or_insert_with(|| run().map_err(|e: Error| format!("on one device: {}", first_line(&e))));
        let Reference { inputs, outputs } = expected.as_ref().map_err(Clone::clone)?;
        let checks = exec::verify_against(client, &self.original, output, inputs, outputs)
            .map_err(|e| first_line(&e))?;
        let wrong: Vec<String> = checks
            .iter()
            .filter(|check| !check.ok())
            .map(|c| {
                let difference = &c.difference;
                format!(
                    "output {} ({}) is off by {:.2e} of its largest value, {} mismatches",
                    c.index, c.ty, difference.max_rel_to_scale, difference.mismatches
                )
            })
            .collect();
        let worst = checks.iter().map(|c| c.difference.max_rel_to_scale).fold(0.0, f64::max);
        let finite = checks.iter().map(|c| c.difference.finite_share).fold(1.0, f64::min);
        let outcome = if wrong.is_empty() { Outcome::Equal } else { Outcome::Wrong };
        let mut answer = Answer::new(outcome, wrong.join("\n"));
        let rounding = checks.iter().filter(|c| c.is_rounding()).count();
        answer.figures =
            vec![("worst", json!(worst)), ("finite", json!(finite)), ("rounding", json!(rounding))];
        Ok(answer)
    }
}

/// Writes the program and the manifest to a folder.
fn write(output: &Output, folder: &Path) -> Result<(), String> {
    let code = output.backend_code().map_err(|e| first_line(&e))?;
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(folder.join("partitioned.mlirbc"), code))
        .and_then(|()| fs::write(folder.join("partitioned.mlir"), output.text()))
        .and_then(|()| fs::write(folder.join("manifest.json"), output.manifest().to_json()))
        .map_err(|e| format!("{}: {e}", folder.display()))
}

fn refusal(error: &Error, file: &Path, source: &str) -> Answer {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    match error {
        Error::Diagnostics(_) if !error.is_internal() => {
            Answer::new(Outcome::Refused, error.render(&name, source, false))
        }
        _ => Answer::new(Outcome::Failed, error.render(&name, source, false)),
    }
}

/// The message of an error, without the program that a back end may print with it.
fn first_line(error: &Error) -> String {
    let text = error.render("", "", false);
    text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().to_owned()
}
