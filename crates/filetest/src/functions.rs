//! Runs a file test separately for each function of its programs, so that one failing function does not hide others.
//!
//! If the file fails as a whole, each of its programs (separated by [`MARK`] with `-split-input-file`) is run separately. The output of a
//! program is checked [block](crate::blocks) by block. A program without labels is one test. A failure of a whole program, such as an
//! unexpected diagnostic with `-verify-diagnostics`, counts for each of its functions.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    fs,
    path::Path,
    process::{self, Stdio},
};

use crate::{
    blocks::{Block, Blocks, MARK},
    filecheck::{self, Command, Options},
    filetest::{FileTest, substitute},
};

/// The outcome of the checks of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The function that the label names; a repeated name gets a suffix `.2`, `.3`, ... A program without labels has its index, from 0.
    pub name: String,
    /// The outcome of the checks. The error is the output of the failed command.
    pub outcome: Result<(), String>,
}

/// A `RUN:` line, split into the command and the options of FileCheck.
struct Run<'a> {
    line: &'a str,
    command: &'a str,
    /// FileCheck's options for the output of the command; `None` if a shell has to run the entire line.
    check: Option<Options>,
    split: bool,
}

/// Runs every `RUN:` line on every program of `text`. A function passes if it passes on all lines.
///
/// # Errors
/// The scratch folder cannot be written to, or bash does not start.
pub fn run(text: &str, test: &FileTest, scratch: &Path, path: &OsStr) -> Result<Vec<Function>, String> {
    // The map is keyed by the index of the program and the line of the label, to merge the outcomes of several `RUN:` lines.
    let mut all: BTreeMap<(usize, usize), Function> = BTreeMap::new();
    let mut whole: BTreeMap<usize, Result<(), String>> = BTreeMap::new();
    let checker = Checker { scratch, path };
    for run in test.runs.iter().map(|run| parse(run)) {
        // The file is first run unchanged, and split only if it fails.
        let passed = checker.whole(text, &run)?;
        let programs: Vec<&str> = if run.split { text.split(MARK).collect() } else { vec![text] };
        let mut before = 0;
        for (number, program) in programs.into_iter().enumerate() {
            // Empty lines before the program keep the line numbers of the file in messages.
            let padded = "\n".repeat(before) + program;
            before += program.matches('\n').count();
            let outcomes = if passed { run.all_passed(&padded) } else { checker.program(&padded, &run)? };
            for (label, outcome) in outcomes {
                let so_far = match label {
                    Some((line, name)) => {
                        &mut all.entry((number, line)).or_insert(Function { name, outcome: Ok(()) }).outcome
                    }
                    None => whole.entry(number).or_insert(Ok(())),
                };
                if so_far.is_ok() {
                    *so_far = outcome;
                }
            }
        }
    }
    for (number, outcome) in whole {
        let functions = all.range_mut((number, 0)..(number + 1, 0));
        let labelled = functions.fold(0, |count, (_, function)| {
            if function.outcome.is_ok() {
                function.outcome.clone_from(&outcome);
            }
            count + 1
        });
        if labelled == 0 {
            all.insert((number, 0), Function { name: number.to_string(), outcome });
        }
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let numbered = |mut function: Function| {
        let count = seen.entry(function.name.clone()).or_default();
        *count += 1;
        if *count > 1 {
            function.name = format!("{}.{count}", function.name);
        }
        function
    };
    Ok(all.into_values().map(numbered).collect())
}

impl Run<'_> {
    fn blocks<'p>(&self, program: &'p str) -> Blocks<'p> {
        self.check.as_ref().map(|options| Blocks::new(program, &options.prefixes)).unwrap_or_default()
    }

    /// A passed outcome for each function of a program.
    fn all_passed(&self, program: &str) -> Vec<Outcome> {
        let blocks = self.blocks(program).blocks;
        if blocks.is_empty() {
            return vec![(None, Ok(()))];
        }
        blocks.into_iter().map(|block| (Some((block.label, block.name)), Ok(()))).collect()
    }
}

fn parse(run: &str) -> Run<'_> {
    let split = run.contains("-split-input-file");
    let cut = run.rsplit_once('|').and_then(|(command, check)| {
        let mut words = check.split_whitespace().map(str::to_owned);
        words.next().filter(|word| word == "FileCheck")?;
        // If FileCheck's options need the shell, the shell runs the entire line.
        let check =
            Command::parse(words).ok().filter(|_| !check.contains(['\'', '"', '$', '<', '>', ';']))?;
        Some((command, check.options))
    });
    match cut {
        Some((command, options)) => Run { line: run, command, check: Some(options), split },
        None => Run { line: run, command: run, check: None, split },
    }
}

struct Checker<'a> {
    scratch: &'a Path,
    path: &'a OsStr,
}

/// The line and name of the label, if any, and the outcome.
type Outcome = (Option<(usize, String)>, Result<(), String>);

impl Checker<'_> {
    /// Whether the entire file, without being split, passes a `RUN:` line.
    fn whole(&self, text: &str, run: &Run<'_>) -> Result<bool, String> {
        let file = self.write("program.mlir", text)?;
        let Some(options) = &run.check else {
            return Ok(self.bash(&substitute(run.line, &file, self.scratch), None)?.is_ok());
        };
        let (outcome, printed) = self.printed(run, &file)?;
        Ok(outcome.is_ok() && filecheck::check(text, "", &printed, options).is_ok())
    }

    /// Runs the command of a line without FileCheck; returns its outcome and its output.
    fn printed(&self, run: &Run<'_>, file: &Path) -> Result<(Result<(), String>, String), String> {
        let printed = self.scratch.join("printed");
        let outcome = self.bash(&substitute(run.command, file, self.scratch), Some(&printed))?;
        let bytes =
            fs::read(&printed).map_err(|error| format!("cannot read {}: {error}", printed.display()))?;
        Ok((outcome, String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn program(&self, program: &str, run: &Run<'_>) -> Result<Vec<Outcome>, String> {
        let file = self.write("program.mlir", program)?;
        let (outcome, printed) = self.printed(run, &file)?;
        let blocks = run.blocks(program);
        let ran = outcome.map_err(|error| format!("{error}{printed}"));
        let label = |block: &Block| Some((block.label, block.name.clone()));
        let Some(options) = run.check.as_ref().filter(|_| ran.is_ok() && blocks.checks()) else {
            if blocks.blocks.is_empty() {
                return Ok(vec![(None, ran)]);
            }
            return Ok(blocks.blocks.iter().map(|block| (label(block), ran.clone())).collect());
        };
        let name = file.display().to_string();
        let checked = |lines: &str| filecheck::check(lines, &name, &printed, options);
        let whole = checked(program);
        match blocks.blocks.as_slice() {
            [] => return Ok(vec![(None, whole)]),
            [block] => return Ok(vec![(label(block), whole)]),
            all if whole.is_ok() => return Ok(all.iter().map(|block| (label(block), Ok(()))).collect()),
            _ => {}
        }
        // Labels that are not found are omitted, because a missing label would make all other blocks fail.
        let mut labels: Vec<usize> = blocks.blocks.iter().map(|b| b.label).collect();
        if checked(&blocks.select(None, &labels)).is_err() {
            let candidates = std::mem::take(&mut labels);
            for label in candidates {
                labels.push(label);
                if checked(&blocks.select(None, &labels)).is_err() {
                    labels.pop();
                }
            }
        }
        let alone = |block: &Block| (label(block), checked(&blocks.select(Some(block), &labels)));
        Ok(blocks.blocks.iter().map(alone).collect())
    }

    fn write(&self, name: &str, text: &str) -> Result<std::path::PathBuf, String> {
        let file = self.scratch.join(name);
        fs::write(&file, text).map_err(|error| format!("cannot write {}: {error}", file.display()))?;
        Ok(file)
    }

    /// Runs a command, and writes its standard output to a file or discards it. The inner error is the standard error of a failed command.
    fn bash(&self, command: &str, to: Option<&Path>) -> Result<Result<(), String>, String> {
        let stdout = match to {
            None => Stdio::null(),
            Some(file) => {
                fs::File::create(file).map_err(|e| format!("cannot write {}: {e}", file.display()))?.into()
            }
        };
        let out = process::Command::new("bash")
            .args(["-o", "pipefail", "-c", command])
            .env("PATH", self.path)
            .current_dir(self.scratch)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(Stdio::piped())
            .output()
            .map_err(|e| format!("cannot start bash: {e}"))?;
        let stderr = String::from_utf8_lossy(&out.stderr);
        Ok(if out.status.success() {
            Ok(())
        } else {
            Err(format!("$ {command}\n{stderr}({})\n", out.status))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_is_split_before_filecheck() {
        let run = parse("sdy_opt %s -split-input-file 2>&1 | FileCheck %s --check-prefixes=A,B");
        assert_eq!(run.command, "sdy_opt %s -split-input-file 2>&1 ");
        assert_eq!(run.check.map(|options| options.prefixes), Some(vec!["A".to_owned(), "B".to_owned()]));
        assert!(run.split && parse("sdy_opt %s").check.is_none() && !parse("sdy_opt %s").split);
    }

    /// The checked output is the program without its check lines, so a check fails if its text occurs nowhere else.
    #[test]
    fn a_failing_function_hides_no_other() -> Result<(), String> {
        let text = "// RUN: : -split-input-file; cat %s | grep -v CHECK | FileCheck %s\n\
            // RUN: : -split-input-file; ! grep '[e]vil' %s\n\
            // CHECK-LABEL: func @a\nfunc @a\n// CHECK: nowhere\n\
            // CHECK-LABEL: func @gone\n// CHECK-LABEL: func @b\nfunc @b\n// CHECK-NEXT: add\nadd\n\
            // -----\n// CHECK-LABEL: func @a\nfunc @a\n// -----\n// CHECK: no label\nno label\n\
            // -----\n// CHECK-LABEL: func @c\nfunc @c evil\n";
        let test = FileTest::parse(text)?;
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = run(text, &test, dir.path(), &path)?;
        let all: Vec<_> = all.iter().map(|f| (&*f.name, f.outcome.is_ok())).collect();
        assert_eq!(
            all,
            [("a", false), ("gone", false), ("b", true), ("a.2", true), ("2", true), ("c", false)]
        );
        Ok(())
    }
}
