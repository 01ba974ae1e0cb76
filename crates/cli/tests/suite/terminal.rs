//! Output to a terminal is colored, and fits the width of the terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]
#![cfg(unix)]

use std::io::Read;
use std::process::Stdio;

use crate::common::Folder;

/// Runs the command on a terminal with this number of columns. Returns its output.
fn on_terminal(folder: &Folder, columns: u16, args: &[&str], env: &[(&str, &str)]) -> String {
    let (mut terminal, end) = pty_process::blocking::open().unwrap();
    terminal.resize(pty_process::Size::new(24, columns)).unwrap();
    let command = pty_process::blocking::Command::new(env!("CARGO_BIN_EXE_shardc"))
        .args(args)
        .current_dir(folder.root())
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR_FORCE")
        .env_remove("COLUMNS")
        .env("TERM", "xterm-256color")
        .envs(env.iter().copied());
    let mut child = command.stdin(Stdio::null()).spawn(end).unwrap();
    let mut shown = Vec::new();
    let mut buffer = [0; 4096];
    // On Linux, reading fails once the other side is closed.
    while let Ok(n @ 1..) = terminal.read(&mut buffer) {
        shown.extend_from_slice(&buffer[..n]);
    }
    child.wait().unwrap();
    String::from_utf8(shown).unwrap().replace("\r\n", "\n")
}

/// The text without color escapes.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\x1b') {
        out.push_str(before);
        rest = after.split_once(|c: char| c.is_ascii_alphabetic()).map_or("", |(_, rest)| rest);
    }
    let out = out + rest;
    // A carriage return overwrites the line. Only the last text of a line is kept, so a spinner is gone.
    let lines = out.split('\n').map(|line| line.rsplit('\r').next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether the text has color or other text attributes, not only cursor movements.
fn colored(text: &str) -> bool {
    text.split("\x1b[").skip(1).any(|rest| {
        let end = rest.find(|c: char| c.is_ascii_alphabetic());
        end.is_some_and(|at| rest[at..].starts_with('m'))
    })
}

#[test]
fn an_error_has_one_prefix() {
    let folder = Folder::new();
    for (args, first) in [
        (&["partition", "plain.mlir", "-o", "-"][..], "error[SH0303]: the program has no mesh"),
        (&["partition", "absent.mlir", "-o", "-"], "error: cannot read absent.mlir"),
        (&["compile", "plain.mlir", "--target", "abacus"], "error: invalid target `abacus`"),
    ] {
        let shown = on_terminal(&folder, 100, args, &[]);
        assert!(colored(&shown), "{shown:?}");
        let text = plain(&shown);
        let errors: Vec<&str> = text.lines().filter(|line| line.contains("error")).collect();
        assert!(errors.len() == 1 && errors[0].trim_start().starts_with(first), "{text}");
    }
}

#[test]
fn colors_follow_the_option_and_the_environment() {
    let folder = Folder::new();
    let args = ["partition", "plain.mlir", "-o", "-"];
    assert!(!colored(&on_terminal(&folder, 100, &args, &[("NO_COLOR", "1")])));
    assert!(!colored(&on_terminal(&folder, 100, &[&args[..], &["--color", "never"]].concat(), &[])));
    assert!(!colored(&on_terminal(&folder, 100, &args, &[("TERM", "dumb")])));
    assert!(colored(&on_terminal(
        &folder,
        100,
        &[&args[..], &["--color=always"]].concat(),
        &[("NO_COLOR", "1")]
    )));
    // Output that is not on a terminal has no colors.
    assert!(!colored(&folder.run(&args).err));
    assert!(colored(&folder.run(&[&["--color", "always"], &args[..]].concat()).err));
    assert!(colored(&folder.run(&["--color", "always", "nothing"]).err));
    let forced = folder.command(&args).env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(colored(&String::from_utf8(forced.stderr).unwrap()));
    let lint = folder.run(&["lint", "warns.mlir", "--color", "always"]);
    assert!(colored(&lint.out), "{}", lint.out);
}

/// Diagnostics, tables and the output of `explain` are no wider than the terminal.
#[test]
fn output_fits_the_terminal_width() {
    let folder = Folder::new();
    let long = format!("// {}\n", "word ".repeat(60));
    let broken = crate::common::PLAIN.replace("stablehlo.dot_general %x", "stablehlo.dot_genral %x");
    std::fs::write(folder.path("broken.mlir"), format!("{long}{broken}")).unwrap();
    let mesh = ["--mesh", "data=4", "--spec", "arg0=data,-"];
    for (args, columns) in [
        (&["lint", "--list"][..], 60),
        (&["opt", "--passes", "list"], 70),
        (&[&["explain", "plain.mlir"], &mesh[..]].concat(), 60),
        (&[&["explain", "plain.mlir", "--value", "%0"], &mesh[..]].concat(), 60),
    ] {
        let shown = on_terminal(&folder, columns, args, &[]);
        assert!(shown.lines().count() > 1, "{shown}");
        for line in shown.lines() {
            assert!(plain(line).chars().count() <= usize::from(columns), "{args:?}: {line}");
        }
    }
    let source_lines = |columns| {
        let shown = plain(&on_terminal(&folder, columns, &["lint", "broken.mlir"], &[]));
        shown.lines().filter(|line| line.contains('|')).map(|line| line.chars().count()).max().unwrap()
    };
    assert!(source_lines(60) <= 60);
    assert!(source_lines(160) > 120);
    // Without a terminal, COLUMNS gives the width.
    let narrow = folder.command(&["lint", "--list"]).env("COLUMNS", "60").output().unwrap();
    assert!(String::from_utf8(narrow.stdout).unwrap().lines().all(|line| line.chars().count() <= 60));
}
