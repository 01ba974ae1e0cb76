//! Runs `filetests/**/*.mlir`: each file is one test, named by its path.
//!
//! `cargo test -p shardc-tests --test filetests -- propagate/` runs one folder. Each file says in its `RUN:` lines
//! what is run; see `shardc_tests::filetest`.

use std::{env, ffi::OsString, path::Path, process::ExitCode, sync::LazyLock};

use libtest_mimic::{Arguments, Failed, Trial};
use shardc_tests::{files, filetest::FileTest, program, root, shared};

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let folder = root().join("filetests");
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
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// The search path for the commands of a test: where `shardc` and LLVM's tools are, then the usual one. `None` where
/// there is no LLVM. Found once, by the first test that runs.
static TOOLS: LazyLock<Option<Result<OsString, String>>> = LazyLock::new(|| {
    let Some(llvm) = program::llvm_tools() else {
        eprintln!("SKIPPED: file tests need LLVM's FileCheck (`cargo xtask setup` installs it)");
        return None;
    };
    let path = program::shardc().map_err(|e| format!("{e:#}")).and_then(|shardc| {
        let own = shardc.parent().map(Path::to_owned).into_iter().chain([llvm]);
        let usual = env::var_os("PATH").unwrap_or_default();
        env::join_paths(own.chain(env::split_paths(&usual))).map_err(|e| e.to_string())
    });
    Some(path)
});

fn run(file: &Path) -> Result<(), Failed> {
    let text = std::fs::read_to_string(file)?;
    let test = FileTest::parse(&text).map_err(|e| format!("{}: {e}", file.display()))?;
    if let Some(absent) = test.requires.iter().find(|word| !offered(word)) {
        eprintln!("SKIPPED: {} requires {absent}", file.display());
        return Ok(());
    }
    let Some(path) = &*TOOLS else { return Ok(()) };
    let path = path.as_ref().map_err(Failed::from)?;
    let scratch = tempfile::tempdir()?;
    Ok(test.run(file, scratch.path(), path)?)
}

/// What a test may require: `shared`, the data beside the checkout, or an environment variable by name.
fn offered(word: &str) -> bool {
    if word == "shared" { shared().is_some() } else { env::var_os(word).is_some() }
}
