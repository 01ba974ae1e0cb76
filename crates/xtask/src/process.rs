//! Runs other programs, and prints commands and durations.

use std::{
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};

/// Runs a command with inherited output.
pub fn run(command: &mut Command) -> Result<()> {
    println!("$ {}", shown(command));
    let status = command.status().with_context(|| format!("starting {}", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed ({status})", shown(command));
    }
    Ok(())
}

/// Runs a command, and returns its standard output. Its standard error is inherited.
pub fn output(command: &mut Command) -> Result<String> {
    let out =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("starting {}", shown(command)))?;
    if !out.status.success() {
        bail!("`{}` failed ({})", shown(command), out.status);
    }
    String::from_utf8(out.stdout).with_context(|| format!("reading the output of {}", shown(command)))
}

/// The command as one would type it in a shell.
pub fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    // The variable `CARGO` contains the full path, so it is shortened.
    let program = if program.ends_with("cargo") { Path::new("cargo") } else { program };
    let words = std::iter::once(program.as_os_str()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// Prints the title, calls `work`, and prints how long it took.
pub fn step<T>(title: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("\n== {title}");
    let start = Instant::now();
    let result = work();
    let word = if result.is_ok() { "done" } else { "FAILED" };
    println!("== {title}: {word} in {}", seconds(start.elapsed()));
    result
}

/// The duration as text, such as `4.2 s` or `3 min 05 s`.
pub fn seconds(time: Duration) -> String {
    let s = time.as_secs_f64();
    if s < 60.0 { format!("{s:.1} s") } else { format!("{} min {:02} s", s as u64 / 60, s as u64 % 60) }
}
