//! nextest filtersets for `cargo xtask test quick` and `cargo xtask test --changed`.

use std::{collections::BTreeSet, path::Path, process::Command};

use anyhow::Result;

use crate::{process, workspace::Workspace};

/// Unit tests of every crate, and the filetests.
pub(crate) const QUICK: &str = "kind(lib) + kind(bin) + binary(filetests)";

/// Returns the filterset of the tests of crates with files that differ from a commit, including new files. Returns `None` if no file
/// differs.
pub(crate) fn changed(workspace: &Workspace, base: &str) -> Result<Option<String>> {
    let git = |args: &[&str]| process::output(Command::new("git").current_dir(&workspace.root).args(args));
    let files =
        git(&["diff", "--name-only", base, "--"])? + &git(&["ls-files", "--others", "--exclude-standard"])?;
    let folders = workspace.package_folders();
    Ok(filterset(files.lines().map(Path::new), &folders))
}

/// Returns a filterset with a term for each crate that has a changed file, and with the filetests, because they run the entire compiler.
///
/// The crate of integration tests is slow, so a file in `tests/tests` selects only its own tests, and a filetest selects only the
/// filetests.
fn filterset<'f>(files: impl Iterator<Item = &'f Path>, folders: &[(&Path, &str)]) -> Option<String> {
    let mut terms = BTreeSet::new();
    for file in files {
        let inside = folders.iter().filter(|(folder, _)| file.starts_with(folder));
        let Some((folder, name)) = inside.max_by_key(|(folder, _)| folder.components().count()) else {
            continue;
        };
        terms.insert("binary(filetests)".to_owned());
        let Ok(rest) = file.strip_prefix(folder) else { continue };
        if rest.starts_with("filetests") {
            continue;
        }
        let integration_test = rest.strip_prefix("tests").ok().filter(|_| *folder == Path::new("tests"));
        terms.insert(integration_test.and_then(of_test_file).unwrap_or_else(|| format!("package(={name})")));
    }
    (!terms.is_empty()).then(|| terms.into_iter().collect::<Vec<_>>().join(" + "))
}

/// Returns the filterset term for a file in `tests/tests`: its test binary, or its module in the binary `suite`. Returns `None` for another
/// file.
fn of_test_file(file: &Path) -> Option<String> {
    let name = file.file_stem()?.to_str()?;
    let folder = file.parent()?;
    if folder == Path::new("") {
        return Some(format!("binary(={name})"));
    }
    (folder == Path::new("suite") && name != "main")
        .then(|| format!("(package(=shardc-tests) & binary(=suite) & test(/^{name}::/))"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn select(files: &[&str]) -> Option<String> {
        let folders = [
            ("passes", "shardc-passes"),
            ("passes/cost", "shardc-cost"),
            ("tests", "shardc-tests"),
            ("crates/cli", "shardc-cli"),
        ];
        let folders: Vec<_> = folders.iter().map(|(folder, name)| (Path::new(*folder), *name)).collect();
        filterset(files.iter().map(Path::new), &folders)
    }

    #[test]
    fn a_changed_crate_selects_its_tests_and_the_filetests() {
        let both = "binary(filetests) + package(=shardc-cli) + package(=shardc-passes)";
        assert_eq!(
            select(&["passes/src/lib.rs", "passes/src/a.rs", "crates/cli/src/main.rs"]).as_deref(),
            Some(both)
        );
        let inner = "binary(filetests) + package(=shardc-cost)";
        assert_eq!(select(&["passes/cost/src/lib.rs"]).as_deref(), Some(inner));
    }

    #[test]
    fn an_integration_test_selects_its_own_tests_alone() {
        let one = "binary(=gradients) + binary(filetests)";
        assert_eq!(select(&["tests/tests/gradients.rs"]).as_deref(), Some(one));
        let one = "(package(=shardc-tests) & binary(=suite) & test(/^guide::/)) + binary(filetests)";
        assert_eq!(select(&["tests/tests/suite/guide.rs"]).as_deref(), Some(one));
        assert_eq!(select(&["tests/filetests/plan/a.mlir"]).as_deref(), Some("binary(filetests)"));
        let all = "binary(filetests) + package(=shardc-tests)";
        assert_eq!(select(&["tests/src/lib.rs"]).as_deref(), Some(all));
        assert_eq!(select(&["tests/tests/suite/main.rs"]).as_deref(), Some(all));
    }

    #[test]
    fn files_outside_of_crates_select_nothing() {
        assert_eq!(select(&["README.md", "docs/GUIDE.md"]), None);
    }
}
