//! Runs `filetests/**/*.mlir`: each file is one test, named by its path.
//!
//! `cargo test -p shardc-tests --test filetests -- propagate/` runs one folder. The `RUN:` lines of a file give its commands; see
//! `shardc_filetest`.
//!
//! `SHARDC_BLESS=1` rewrites failing check lines, as described in `shardc_filetest::filecheck::bless`, and lists the changes at the end.
//! Review the changes with `git diff`.

use std::{
    env,
    ffi::OsString,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::{LazyLock, Mutex, PoisonError},
};

use libtest_mimic::{Arguments, Failed, Trial};
use shardc_tests::{
    files,
    filetest::FileTest,
    program, root, shared,
    skip::{Need, skipped},
    tools,
};

fn main() -> ExitCode {
    if let Some(code) = tools::stand_in() {
        return code;
    }
    let arguments = Arguments::from_args();
    let folder = root().join("filetests");
    // Resolves dots in the path, for readable names.
    let folder = folder.canonicalize().unwrap_or(folder);
    let paths = match files(&folder, "mlir") {
        Ok(paths) => paths,
        Err(error) => {
            eprintln!("{}: {error}", folder.display());
            return ExitCode::FAILURE;
        }
    };
    let trials = paths
        .into_iter()
        .map(|file| {
            let name = file.strip_prefix(&folder).unwrap_or(&file).display().to_string();
            Trial::test(name, move || run(&file))
        })
        .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    let mut rewritten = REWRITTEN.lock().unwrap_or_else(PoisonError::into_inner);
    rewritten.sort();
    if !rewritten.is_empty() {
        eprintln!("rewritten, to be looked at with `git diff`:\n{}", rewritten.concat());
    }
    conclusion.exit_code()
}

/// The blessed changes, by file.
static REWRITTEN: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// The tools on the search path of the commands.
struct Tools {
    path: OsString,
}

/// The tools, which the first test sets up.
static TOOLS: LazyLock<Result<Tools, String>> = LazyLock::new(|| {
    let find = || {
        let shardc = program::shardc()?;
        let bin = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("filetests");
        let path = program::search_path(&bin, &shardc, &[])?;
        Ok(Tools { path })
    };
    find().map_err(|error: anyhow::Error| format!("{error:#}"))
});

fn run(file: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(file)?;
    let test = FileTest::parse(&text).map_err(|e| format!("{}: {e}", file.display()))?;
    let tools = TOOLS.as_ref()?;
    for word in &test.requires {
        let (need, is_there) = match Need::from_word(word) {
            Some(need @ Need::Shared) => (need, shared().is_some()),
            _ => return Err(format!("{}: `REQUIRES: {word}` is not known", file.display()).into()),
        };
        if !is_there {
            return Ok(skipped(need, &format!("{} requires {need}", file.display()))?);
        }
    }
    let scratch = tempfile::tempdir()?;
    if env::var_os("SHARDC_BLESS").is_none_or(|value| value != "1") {
        return Ok(test.run(file, scratch.path(), &tools.path)?);
    }
    let (changed, outcome) = test.bless(file, scratch.path(), &tools.path);
    if !changed.is_empty() {
        REWRITTEN.lock().unwrap_or_else(PoisonError::into_inner).push(changed);
    }
    Ok(outcome?)
}
