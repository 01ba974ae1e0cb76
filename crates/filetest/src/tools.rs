//! LLVM's test utilities `FileCheck`, `not` and `split-file`, inside the program that runs the tests.
//!
//! Commands of a file test find these tools on their search path, as links to the running program ([`link`]). The program selects the tool
//! by the name under which it was started ([`stand_in`]), so no other program has to be built or installed.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::{fs::symlink, process::ExitStatusExt as _},
    path::Path,
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail};

use crate::filecheck;

/// The names of the tools.
const NAMES: [&str; 3] = ["FileCheck", "not", "split-file"];

/// Runs the tool under whose name this process was started; `None` if it was started under its own name. A program that uses [`link`] must
/// call `stand_in` first.
#[must_use]
pub fn stand_in() -> Option<ExitCode> {
    let mut arguments = env::args_os();
    let name = arguments.next()?;
    let done = match Path::new(&name).file_name()?.to_str()? {
        "FileCheck" => match filecheck::run(arguments) {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(message) => {
                eprint!("{message}");
                Ok(ExitCode::FAILURE)
            }
        },
        "not" => not(arguments),
        "split-file" => split(arguments),
        _ => return None,
    };
    Some(done.unwrap_or_else(|error| {
        eprintln!("{}: error: {error:#}", Path::new(&name).display());
        ExitCode::FAILURE
    }))
}

/// Puts the tools into a folder.
///
/// # Errors
/// The folder cannot be written to.
pub fn link(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let program = env::current_exe().context("finding the running program")?;
    for name in NAMES {
        let link = folder.join(name);
        // A link of an earlier run may point to a different program. Other runners may use the folder at the same time.
        if fs::read_link(&link).is_ok_and(|old| old == program) {
            continue;
        }
        let new = folder.join(format!("{name}.{}", std::process::id()));
        let made = symlink(&program, &new).and_then(|()| fs::rename(&new, &link));
        made.with_context(|| format!("making {}", link.display()))?;
    }
    Ok(())
}

/// Runs a command, and succeeds if the command exits with a failure. A command that is killed by a signal is an error.
fn not(mut arguments: impl Iterator<Item = OsString>) -> Result<ExitCode> {
    let program = arguments.next().context("`not` needs a command")?;
    let status = Command::new(&program).args(arguments).status();
    let status = status.with_context(|| format!("starting {}", Path::new(&program).display()))?;
    if let Some(signal) = status.signal() {
        bail!("{} was killed by signal {signal}", Path::new(&program).display());
    }
    Ok(if status.success() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Writes the parts of a file, each after a line `//--- NAME`, to separate files in a folder.
fn split(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode> {
    let arguments: Vec<OsString> = arguments.collect();
    let [file, folder] = arguments.as_slice() else { bail!("`split-file` needs a file and a folder") };
    let (file, folder) = (Path::new(file), Path::new(folder));
    let text = fs::read_to_string(file).with_context(|| format!("reading {}", file.display()))?;
    for (name, part) in parts(&text)? {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
        fs::write(&path, part).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn parts(text: &str) -> Result<Vec<(&str, String)>> {
    let mut parts: Vec<(&str, String)> = Vec::new();
    for line in text.split_inclusive('\n') {
        if let Some(name) = line.trim_start_matches(['/', '#', ';', ' ']).strip_prefix("--- ") {
            let name = name.trim();
            if parts.iter().any(|(before, _)| *before == name) {
                bail!("two parts of the file are named {name}");
            }
            parts.push((name, String::new()));
        } else if let Some((_, part)) = parts.last_mut() {
            part.push_str(line);
        }
    }
    if parts.is_empty() {
        bail!("expected at least one line `//--- NAME`, found none");
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_split_at_its_names() {
        let all = parts("// RUN: x\n//--- a.mlir\na\nb\n//--- d/b.mlir\nc\n").expect("two parts");
        assert_eq!(all, [("a.mlir", "a\nb\n".to_owned()), ("d/b.mlir", "c\n".to_owned())]);
        assert!(parts("a\n").is_err() && parts("//--- a\n//--- a\n").is_err());
    }

    #[test]
    fn not_inverts_the_exit_code() {
        let of = |words: &[&str]| not(words.iter().map(OsString::from));
        let is = |code: ExitCode, words: &[&str]| {
            of(words).is_ok_and(|it| format!("{it:?}") == format!("{code:?}"))
        };
        assert!(is(ExitCode::SUCCESS, &["false"]) && is(ExitCode::FAILURE, &["true"]));
        assert!(of(&["bash", "-c", "kill -9 $$"]).is_err() && of(&[]).is_err());
    }
}
