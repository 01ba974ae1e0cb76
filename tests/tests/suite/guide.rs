//! Runs every command in a `console` block of docs/GUIDE.md and compares its output with the text after it. `SHARDC_BLESS=1` rewrites the
//! guide. The commands of README.md have to succeed.
//!
//! Commands run in order in one folder, which contains a link to the folder `tests`. An `mlir` block becomes the file `step.mlir` in that
//! folder, or the file named in a comment in its first line (`// plain.mlir`). Commands that need a missing plugin, or a shardc that writes
//! bytecode, are skipped and reported; `SHARDC_BLESS` does not change their output in the guide.

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

/// Exit codes that a command of the guide may have: success and rejection. Invalid usage and signals are failures.
const EXPECTED: [i32; 2] = [0, 1];

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
        if needs(&["shardc verify", "shardc run", "shardc compile"]) {
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
fn replayed(folder: &Folder, inside: &str) -> String {
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
        if let Some((need, reason)) = folder.lacks(command) {
            skip(need, &format!("{command}: {reason}"));
            out.extend(shown);
            continue;
        }
        let ran = folder.run(command);
        let expected = ran.code.is_some_and(|code| EXPECTED.contains(&code));
        assert!(expected, "$ {command}\n{}ended with {:?}", ran.text, ran.code);
        out.extend(ran.text.trim_end().lines().map(str::to_owned));
    }
    out.join("\n")
}

fn guide() -> PathBuf {
    root().join("../docs/GUIDE.md")
}

#[test]
fn commands_print_what_the_guide_shows() {
    let written = fs::read_to_string(guide()).expect("the guide is in the checkout");
    let folder = Folder::new();
    fs::copy(root().join(FIRST_STEP), folder.file("step.mlir")).expect("a program to begin with");
    let bytecode = folder.run("shardc opt step.mlir --emit bytecode -o step.mlirbc");
    assert_eq!(bytecode.code, Some(0), "{}", bytecode.text);
    let (mut truth, mut rest, mut commands) = (String::new(), written.as_str(), 0);
    while !rest.is_empty() {
        if let Some((language, inside, after)) = block(rest) {
            let now = match language {
                "console" => {
                    commands += inside.lines().filter(|line| line.starts_with("$ ")).count();
                    replayed(&folder, inside)
                }
                "mlir" => {
                    let first = inside.lines().next().unwrap_or_default();
                    let name = first.strip_prefix("// ").filter(|name| name.ends_with(".mlir"));
                    fs::write(folder.file(name.unwrap_or("step.mlir")), format!("{inside}\n"))
                        .expect("the folder can be written to");
                    inside.to_owned()
                }
                _ => inside.to_owned(),
            };
            truth.push_str(&format!("```{language}\n{now}\n```\n"));
            rest = after;
        } else {
            let end = rest.find('\n').map_or(rest.len(), |at| at + 1);
            truth.push_str(&rest[..end]);
            rest = &rest[end..];
        }
    }
    assert!(commands >= 10, "only {commands} commands were found in the guide");
    if env::var_os("SHARDC_BLESS").is_some() {
        fs::write(guide(), &truth).expect("the guide can be written");
        return;
    }
    let differs = written.lines().zip(truth.lines()).position(|(written, now)| written != now);
    let from = differs.unwrap_or(0).saturating_sub(2);
    let around: Vec<&str> = truth.lines().skip(from).take(20).collect();
    assert!(
        written == truth,
        "line {} of docs/GUIDE.md is not what is printed (SHARDC_BLESS=1 writes it anew):\n{}",
        from + 3,
        around.join("\n")
    );
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
    let guide = fs::read_to_string(guide()).expect("the guide is in the checkout");
    for lint in shardc::lint::LINTS {
        let row = format!("| `{}` | {} |", lint.name, lint.code);
        assert!(guide.contains(&row), "docs/GUIDE.md has no row {row}");
    }
}
