//! Files with `RUN:` lines, modeled on LLVM's lit.
//!
//! The command of a line `// RUN: COMMAND` is run by a shell. `%s` is the file, `%S` its folder, `%t` a path that is unique to the test,
//! `%{shared}` the folder of shared data and `%%` a percent sign. A line that ends in `\` continues in the next `RUN:` line. Every line
//! must succeed, including every command of a pipe. `shardc`, `FileCheck`, `not` and `split-file` are on the `PATH`; the last three are
//! [implemented by the runner](crate::tools).
//!
//! A test with a line `// REQUIRES: WORD` runs only if the resource `WORD` is available.
//!
//! [`FileTest::bless`] has `FileCheck` rewrite failing check lines, as [`bless`](crate::filecheck::bless) describes.

use std::{
    ffi::OsStr,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::filecheck::bless::LOG;

/// The maximum number of times that a test is run while its check lines are rewritten.
const BLESS_ROUNDS: usize = 4;

/// A parsed file test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileTest {
    /// The commands, with continued lines joined, before substitution.
    pub runs: Vec<String>,
    /// The words that the test requires.
    pub requires: Vec<String>,
}

impl FileTest {
    /// Parses the `RUN:` and `REQUIRES:` lines of a test.
    ///
    /// # Errors
    /// There is no `RUN:` line, or the last one ends in a continuation.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut test = FileTest::default();
        let mut open = false;
        for line in text.lines() {
            let Some(comment) = line.trim_start().strip_prefix("//") else { continue };
            let comment = comment.trim();
            if let Some(command) = comment.strip_prefix("RUN:") {
                let command = command.trim();
                let (command, continued) = match command.strip_suffix('\\') {
                    Some(start) => (start.trim_end(), true),
                    None => (command, false),
                };
                match test.runs.last_mut().filter(|_| open) {
                    Some(last) => {
                        last.push(' ');
                        last.push_str(command);
                    }
                    None => test.runs.push(command.to_owned()),
                }
                open = continued;
            } else if let Some(words) = comment.strip_prefix("REQUIRES:") {
                test.requires.extend(words.split([',', ' ']).filter(|w| !w.is_empty()).map(str::to_owned));
            }
        }
        if open {
            return Err("the last RUN: line is continued, but nothing follows".to_owned());
        }
        if test.runs.is_empty() {
            return Err("there is no RUN: line".to_owned());
        }
        Ok(test)
    }

    /// Runs the commands in order.
    ///
    /// # Errors
    /// The first failed command and its output.
    pub fn run(&self, file: &Path, scratch: &Path, path: &OsStr) -> Result<(), String> {
        self.commands(file, scratch, path, None)
    }

    /// Runs the commands and rewrites failing check lines of `file`. Returns what was rewritten, even if the test still fails.
    pub fn bless(&self, file: &Path, scratch: &Path, path: &OsStr) -> (String, Result<(), String>) {
        let log = scratch.join("blessed");
        let mut done = String::new();
        let mut outcome = Ok(());
        // Inserted or removed lines change the line numbers in printed diagnostics, so a single round may not suffice.
        for _ in 0..BLESS_ROUNDS {
            outcome = self.commands(file, scratch, path, Some(&log));
            let Ok(changed) = fs::read_to_string(&log) else { break };
            done.push_str(&changed);
            if let Err(error) = fs::remove_file(&log) {
                outcome = Err(format!("removing {}: {error}", log.display()));
                break;
            }
        }
        if outcome.is_ok() && !done.is_empty() {
            outcome = self.commands(file, scratch, path, None).map_err(|message| {
                format!("RUN: lines with the same check prefix need different check lines\n{message}")
            });
        }
        (done, outcome)
    }

    fn commands(
        &self,
        file: &Path,
        scratch: &Path,
        path: &OsStr,
        bless: Option<&Path>,
    ) -> Result<(), String> {
        for run in &self.runs {
            let command = substitute(run, file, scratch);
            let mut bash = Command::new("bash");
            match bless {
                Some(log) => bash.env(LOG, log),
                None => bash.env_remove(LOG),
            };
            let out = bash
                .args(["-o", "pipefail", "-c", &command])
                .env("PATH", path)
                .current_dir(scratch)
                .stdin(Stdio::null())
                .output()
                .map_err(|e| format!("cannot start bash: {e}"))?;
            if !out.status.success() {
                return Err(format!(
                    "{}\n$ {command}\n{}{}({})",
                    file.display(),
                    String::from_utf8_lossy(&out.stdout),
                    String::from_utf8_lossy(&out.stderr),
                    out.status
                ));
            }
        }
        Ok(())
    }
}

const SHARED: &str = "%{shared}";

/// Substitutes the `%` markers.
#[must_use]
pub fn substitute(command: &str, file: &Path, scratch: &Path) -> String {
    let mut out = String::with_capacity(command.len());
    let mut rest = command;
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        let (text, used) = match rest[at + 1..].chars().next() {
            Some('s') => (quoted(file), 2),
            Some('S') => (quoted(file.parent().unwrap_or(file)), 2),
            Some('t') => (quoted(&scratch.join("t")), 2),
            Some('%') => ("%".to_owned(), 2),
            Some('{') if rest[at..].starts_with(SHARED) => {
                (crate::shared().map(|dir| quoted(&dir)).unwrap_or_default(), SHARED.len())
            }
            _ => ("%".to_owned(), 1),
        };
        out.push_str(&text);
        rest = &rest[at + used..];
    }
    out.push_str(rest);
    out
}

/// Converts a path to a shell word. The word is quoted only if necessary, so that `%t.mlir` stays readable.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "/._-+=:,@".contains(c));
    if plain { text.into_owned() } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn run_lines_are_joined_and_others_ignored() {
        let text = "// RUN: shardc opt %s \\\n// RUN:   | FileCheck %s\n//RUN: true\n// CHECK: RUN: no\n// REQUIRES: cpu, tpu\nmodule {}";
        let test = FileTest::parse(text).unwrap();
        assert_eq!(test.runs, ["shardc opt %s | FileCheck %s", "true"]);
        assert_eq!(test.requires, ["cpu", "tpu"]);
        assert!(FileTest::parse("module {}").is_err());
        assert!(FileTest::parse("// RUN: a \\").is_err());
    }

    #[test]
    fn percent_signs_are_substituted() {
        let of = |command: &str| substitute(command, Path::new("/a/b c.mlir"), Path::new("/tmp/x"));
        assert_eq!(of("f %s -o %t.out %% %q %"), "f '/a/b c.mlir' -o /tmp/x/t.out % %q %");
        assert_eq!(of("ls %S"), "ls /a");
    }

    #[test]
    fn any_failure_in_a_pipeline_is_a_failure() {
        let dir = tempfile::tempdir().unwrap();
        let path = std::env::var_os("PATH").unwrap();
        let run = |command: &str| {
            let test = FileTest { runs: vec![command.to_owned()], requires: Vec::new() };
            test.run(Path::new("/file.mlir"), dir.path(), &path)
        };
        assert_eq!(run("echo a | grep a"), Ok(()));
        assert!(run("(echo told; exit 3) | cat").unwrap_err().contains("told"));
    }
}
