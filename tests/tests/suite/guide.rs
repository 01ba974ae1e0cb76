//! Runs every command in a `console` block of the documentation and compares its output with the text after it: docs/GUIDE.md,
//! docs/START.md, the pages of docs/tasks and the explanations of diagnostic codes. `SHARDC_BLESS=1` rewrites the pages. The commands of
//! README.md have to succeed.
//!
//! The commands of a page run in order in one folder, which contains a link to the folder `tests`. An `mlir` block becomes the file
//! `step.mlir` in that folder. A block becomes another file if a comment in its first line names it (`// plain.mlir`, `# rules.toml`).
//! Commands that need a missing plugin are skipped and reported; `SHARDC_BLESS` does not change their output in the pages.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use shardc_tests::{
    program, root,
    skip::{Need, skip},
};

/// The initial content of `step.mlir`, until the guide shows another program.
const FIRST_STEP: &str = "programs/mlp_dp_tp_train.mlir";

/// The user guide, in the repository.
const GUIDE: &str = "docs/GUIDE.md";

/// Exit codes that a command of a page may have: success and rejection. Invalid usage and signals are failures.
const EXPECTED: &[i32] = &[0, 1];

/// Exit codes that a command of an explanation may have: some codes are about the command line.
const EXPECTED_OF_CODES: &[i32] = &[0, 1, 2];

/// Commands that are shown and not run: they install something, or build and run Rust programs that other tests run.
const SHOWN: &[&str] = &["pip install", "cargo ", "shardc plugin install"];

/// A folder to run commands in.
struct Folder {
    dir: tempfile::TempDir,
    path: std::ffi::OsString,
}

/// The result of a command.
struct Ran {
    code: Option<i32>,
    /// Both streams, in the order in which a terminal shows them.
    text: String,
}

impl Folder {
    fn new() -> Folder {
        static SHARDC: OnceLock<PathBuf> = OnceLock::new();
        let shardc = SHARDC.get_or_init(|| program::shardc().expect("the program builds"));
        let dir = tempfile::tempdir().expect("a temporary folder");
        let (tests, bin) = (root().canonicalize().expect("this folder"), dir.path().join("bin"));
        std::os::unix::fs::symlink(&tests, dir.path().join("tests")).expect("a link to the tests");
        fs::create_dir(&bin).expect("a folder for programs");
        std::os::unix::fs::symlink(shardc.canonicalize().expect("the program"), bin.join("shardc"))
            .expect("a link to the program");
        let usual = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths([bin].into_iter().chain(env::split_paths(&usual))).expect("a search path");
        Folder { dir, path }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn run(&self, command: &str) -> Ran {
        let out = Command::new("bash")
            .args(["-o", "pipefail", "-c", &format!("exec 2>&1; {command}")])
            .env("PATH", &self.path)
            .env_remove("COLUMNS")
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .output()
            .expect("bash runs");
        Ran { code: out.status.code(), text: String::from_utf8_lossy(&out.stdout).into_owned() }
    }

    /// Returns the reason why a command cannot run on this machine, if there is one.
    fn lacks(&self, command: &str) -> Option<(Need, &'static str)> {
        let needs = |words: &[&str]| words.iter().any(|word| command.contains(word));
        let is_interpreted = needs(&["--exact", "--engine interpreter"]);
        if needs(&["shardc verify", "shardc run", "shardc compile"]) && !is_interpreted {
            let found = self.run("shardc plugin list");
            if !found.text.contains("cpu") {
                return Some((Need::CpuPlugin, "there is no CPU plugin (`shardc plugin install cpu`)"));
            }
        }
        None
    }
}

/// The fenced block at the beginning of `text`: its language, its content, and the text after it.
fn block(text: &str) -> Option<(&str, &str, &str)> {
    let (language, rest) = text.strip_prefix("```")?.split_once('\n')?;
    let (inside, after) = rest.split_once("\n```\n")?;
    Some((language, inside, after))
}

/// The block with the current output of its commands.
fn replayed(folder: &Folder, inside: &str, expected: &[i32]) -> String {
    let mut out = Vec::new();
    let mut lines = inside.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(command) = line.strip_prefix("$ ") else {
            panic!("a console block begins with a command: {line}");
        };
        let mut shown = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with("$ ")) {
            shown.push(line.to_owned());
        }
        out.push(line.to_owned());
        if SHOWN.iter().any(|start| command.starts_with(start)) {
            out.extend(shown);
            continue;
        }
        if let Some((need, reason)) = folder.lacks(command) {
            skip(need, &format!("{command}: {reason}"));
            out.extend(shown);
            continue;
        }
        let ran = folder.run(command);
        assert!(
            ran.code.is_some_and(|code| expected.contains(&code)),
            "$ {command}\n{}ended with {:?}",
            ran.text,
            ran.code
        );
        let mut shown = shown.into_iter();
        out.extend(ran.text.trim_end().lines().map(|now| match shown.next() {
            Some(old) if without_rounding(&old) == without_rounding(now) => old,
            _ => now.to_owned(),
        }));
    }
    out.join("\n")
}

/// A line before the figure that depends on rounding, and so on the processor.
fn without_rounding(line: &str) -> (&str, Option<&str>) {
    match line.split_once("largest difference ") {
        Some((before, after)) => (before, after.split_once(' ').map(|(_, after)| after)),
        None => (line, None),
    }
}

/// The file that a block becomes: the one that a comment in its first line names, or `step.mlir` for a program.
fn file_of<'b>(language: &str, inside: &'b str) -> Option<&'b str> {
    let first = inside.lines().next().unwrap_or_default();
    let name = first.strip_prefix("// ").or_else(|| first.strip_prefix("# "));
    let is_file = |name: &&str| {
        name.split_once('.')
            .is_some_and(|(stem, end)| !stem.contains(' ') && ["mlir", "toml", "yaml"].contains(&end))
    };
    name.filter(is_file).or((language == "mlir").then_some("step.mlir"))
}

/// Runs the commands of a page in the repository, and compares their output with the page. Returns the number of commands.
fn check(page: &str, expected: &[i32]) -> usize {
    let path = root().join("..").join(page);
    let written = fs::read_to_string(&path).expect("the page is in the checkout");
    let folder = Folder::new();
    fs::copy(root().join(FIRST_STEP), folder.file("step.mlir")).expect("a program to begin with");
    let bytecode = folder.run("shardc opt step.mlir --emit bytecode -o step.mlirbc");
    assert_eq!(bytecode.code, Some(0), "{}", bytecode.text);
    let (mut truth, mut rest, mut commands) = (String::new(), written.as_str(), 0);
    while !rest.is_empty() {
        if let Some((language, inside, after)) = block(rest) {
            let now = if language == "console" {
                commands += inside.lines().filter(|line| line.starts_with("$ ")).count();
                replayed(&folder, inside, expected)
            } else {
                if let Some(name) = file_of(language, inside) {
                    fs::write(folder.file(name), format!("{inside}\n"))
                        .expect("the folder can be written to");
                }
                inside.to_owned()
            };
            truth.push_str(&format!("```{language}\n{now}\n```\n"));
            rest = after;
        } else {
            let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
            truth.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    if env::var_os("SHARDC_BLESS").is_some() {
        fs::write(&path, &truth).expect("the page can be written");
        return commands;
    }
    let differs = written.lines().zip(truth.lines()).position(|(written, now)| written != now);
    let from = differs.unwrap_or(0).saturating_sub(2);
    let around: Vec<&str> = truth.lines().skip(from).take(20).collect();
    assert!(
        written == truth,
        "line {} of {page} is not what is printed (SHARDC_BLESS=1 rewrites it):\n{}",
        from + 3,
        around.join("\n")
    );
    commands
}

/// The pages of a folder of the repository.
fn pages(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join("..").join(folder)).expect("the folder is in the checkout");
    let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    let mut pages: Vec<_> =
        names.filter(|name| name.ends_with(".md")).map(|name| format!("{folder}/{name}")).collect();
    pages.sort();
    pages
}

#[test]
fn commands_print_what_the_guide_shows() {
    let commands = check(GUIDE, EXPECTED);
    assert!(commands >= 10, "only {commands} commands were found in the guide");
}

#[test]
fn commands_print_what_the_pages_of_tasks_show() {
    let first = ["docs/START.md".to_owned()];
    let pages = first.into_iter().chain(pages("docs/tasks"));
    let commands: usize = pages.map(|page| check(&page, EXPECTED)).sum();
    assert!(commands >= 20, "only {commands} commands were found in docs/tasks");
}

#[test]
fn commands_print_what_the_explanations_of_codes_show() {
    let commands: usize = pages("ir/src/codes").iter().map(|page| check(page, EXPECTED_OF_CODES)).sum();
    assert!(commands >= 30, "only {commands} commands were found in ir/src/codes");
}

#[test]
fn commands_of_the_readme_succeed() {
    let path: &Path = &root().join("../README.md");
    let readme = fs::read_to_string(path).expect("the README is in the checkout");
    let folder = Folder::new();
    let mut commands = 0;
    for line in readme.lines() {
        let Some(command) = line.strip_prefix("$ ").filter(|command| command.starts_with("shardc ")) else {
            continue;
        };
        commands += 1;
        if let Some((need, reason)) = folder.lacks(command) {
            skip(need, &format!("{command}: {reason}"));
            continue;
        }
        // Commands that need the network are only parsed.
        let is_online = command.starts_with("shardc plugin install");
        let command = command.split('#').next().unwrap_or(command).trim_end();
        let ran = folder.run(&if is_online { format!("{command} --help") } else { command.to_owned() });
        assert_eq!(ran.code, Some(0), "$ {command}\n{}", ran.text);
    }
    assert!(commands >= 4, "only {commands} commands were found in the README");
}

#[test]
fn the_table_of_lint_has_every_rule() {
    let guide = fs::read_to_string(root().join("..").join(GUIDE)).expect("the guide is in the checkout");
    for lint in shardc::lint::LINTS {
        let row = format!("| `{}` | {} |", lint.name, lint.code);
        assert!(guide.contains(&row), "docs/GUIDE.md has no row {row}");
    }
}
