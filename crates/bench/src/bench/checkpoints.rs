//! Saving and restoring a state of several gibibytes on a local disk, compared with plain files, a copy in memory, and Orbax.
//!
//! Every measurement runs at least once in each round. Ratios are computed from measurements of the same round.

use std::{
    collections::BTreeMap,
    env,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, anyhow};
use serde_json::Value;

use super::{BenchArgs, median, page};
use xtask::{
    process, python,
    workspace::{Workspace, cargo},
};

/// Size of the state in GiB.
const STATE: usize = 4;
/// Size in MiB of an array, which is stored as one shard. Plain files are read and written in pieces of this size.
const SHARD: usize = 64;

const SCRIPT: &str = include_str!("../../python/orbax_checkpoints.py");

/// The kernel's file that drops the page cache when it is written. Without root privileges, the file is not writable.
const DROP_CACHES: &str = "/proc/sys/vm/drop_caches";

/// The times in seconds of each measurement, in all rounds.
type Times = BTreeMap<&'static str, Vec<f64>>;

/// The measured programs, their folder, and the results.
struct Bench {
    speed: PathBuf,
    folder: PathBuf,
    /// A Python interpreter with Orbax, and the script that it runs; `None` if there is no such interpreter.
    orbax: Option<(PathBuf, PathBuf)>,
    times: Times,
    /// For each measurement, the peak memory in bytes, without the state itself.
    extra: BTreeMap<&'static str, u64>,
}

/// Measures, prints the tables, and writes them into the documentation if requested.
pub(super) fn run(workspace: &Workspace, args: &BenchArgs) -> Result<()> {
    process::step("build the measured program, optimized", || {
        let build = ["build", "--release", "--package", "shardc-checkpoint", "--example", "speed"];
        process::run(cargo().current_dir(&workspace.root).args(build))
    })?;
    let speed =
        workspace.target.join("release/examples").join(format!("speed{}", std::env::consts::EXE_SUFFIX));
    let scratch = workspace.scratch("checkpoints")?;
    let script = scratch.join("orbax_checkpoints.py");
    fs::write(&script, SCRIPT).with_context(|| format!("writing {}", script.display()))?;
    let folder = scratch.join("state");
    let orbax = with_orbax(args).map(|python| (python, script));
    if orbax.is_none() {
        println!("SKIPPED: Orbax: neither --python nor SHARDC_PYTHON is a Python with orbax-checkpoint");
    }
    let mut bench = Bench { speed, folder, orbax, times: Times::new(), extra: BTreeMap::new() };
    for number in 1..=args.runs {
        println!("\nround {number} of {}", args.runs);
        let done = bench.round();
        // The files take gigabytes, so they are deleted even after an error.
        let _ = fs::remove_dir_all(&bench.folder);
        done?;
    }
    let table = table(&bench.times, &bench.extra, args.runs);
    println!("\n{table}");
    if args.update { page::update(workspace, "--only checkpoints", &table) } else { Ok(()) }
}

/// Returns the Python interpreter of `--python` or `SHARDC_PYTHON`, if Orbax is installed in it.
fn with_orbax(args: &BenchArgs) -> Option<PathBuf> {
    let python = args.python.clone().or_else(|| env::var_os("SHARDC_PYTHON").map(PathBuf::from))?;
    let version = python::version_of(&python, "orbax-checkpoint")?;
    println!("Orbax {version}");
    Some(python)
}

impl Bench {
    fn round(&mut self) -> Result<()> {
        let (state, shard) = (STATE.to_string(), SHARD.to_string());
        // A disk may be slower for blocks that were never written, so each measurement of writes reuses blocks that were written before.
        self.speed("plain file, written", &["plain", &state, &shard])?;
        self.empty()?;
        self.speed("checkpoint, saved", &["save", &state, &shard])?;
        self.empty()?;
        self.speed("plain file, written", &["plain", &state, &shard])?;
        self.speed("checkpoint, saved", &["save", &state, &shard])?;
        self.dd("plain file, read, warm")?;
        self.speed("checkpoint, restored, warm", &["restore", "leave"])?;
        self.dd("plain file, read, warm")?;
        self.speed("checkpoint, restored, warm", &["restore", "leave"])?;
        if forget() {
            self.dd("plain file, read, cold")?;
            forget();
            self.speed("checkpoint, restored, cold", &["restore", "leave"])?;
        } else {
            println!("SKIPPED: reads from a cold page cache: {DROP_CACHES} is not writable");
        }
        self.empty()?;
        self.speed("checkpoint, saved", &["save", &state, &shard])?;
        self.speed("checkpoint, restored and kept", &["restore", "keep"])?;
        self.empty()?;
        self.speed("save_async, until the call returns", &["async", &state, &shard])?;
        self.empty()?;
        if self.orbax.is_some() {
            let layouts = [
                ("zarr3", "Orbax, same layout, saved", "Orbax, same layout, restored"),
                ("default", "Orbax, its default, saved", "Orbax, its default, restored"),
            ];
            for (layout, saved, restored) in layouts {
                self.orbax(saved, "save", layout)?;
                self.orbax(restored, "restore", layout)?;
                self.empty()?;
            }
        }
        Ok(())
    }

    /// Empties the folder, and flushes all writes to the disk.
    fn empty(&self) -> Result<()> {
        fs::remove_dir_all(&self.folder).with_context(|| format!("emptying {}", self.folder.display()))?;
        fs::create_dir_all(&self.folder)?;
        sync()
    }

    /// Runs the measured program `speed`, and records the time.
    fn speed(&mut self, what: &'static str, words: &[&str]) -> Result<()> {
        fs::create_dir_all(&self.folder)?;
        sync()?;
        let mut command = Command::new(&self.speed);
        command.arg(words[0]).arg(&self.folder).args(&words[1..]);
        let output: Value = serde_json::from_str(&process::output(&mut command)?)?;
        self.add(what, of(&output, "seconds")?);
        if let Some(copy) = output["copy"].as_f64() {
            self.add("plain copy in memory", copy);
        }
        if let Some(extra) = output["extra"].as_u64() {
            let most = self.extra.entry(what).or_default();
            *most = extra.max(*most);
        }
        Ok(())
    }

    /// Measures the time in which `dd` reads the plain file.
    fn dd(&mut self, what: &'static str) -> Result<()> {
        let mut command = Command::new("dd");
        command.arg(format!("if={}", self.folder.join("plain").display()));
        command.args(["of=/dev/null", &format!("bs={SHARD}M")]).env("LC_ALL", "C");
        let out = command.output().with_context(|| format!("starting {}", process::shown(&command)))?;
        let stderr = String::from_utf8_lossy(&out.stderr);
        let seconds = dd_seconds(&stderr).ok_or_else(|| anyhow!("unexpected output of dd: {stderr}"))?;
        self.add(what, seconds);
        Ok(())
    }

    fn orbax(&mut self, what: &'static str, word: &str, layout: &str) -> Result<()> {
        let Some((python, script)) = &self.orbax else { return Ok(()) };
        sync()?;
        let mut command = Command::new(python);
        command.arg(script).arg(word).arg(&self.folder);
        command.args([&STATE.to_string(), &SHARD.to_string(), layout]);
        // Orbax's warnings are not relevant for measurements.
        let out = command.output().with_context(|| format!("starting {}", process::shown(&command)))?;
        let text = String::from_utf8_lossy(&out.stdout);
        let output: Value = text
            .lines()
            .find_map(|line| serde_json::from_str(line).ok())
            .ok_or_else(|| anyhow!("Orbax failed: {}", String::from_utf8_lossy(&out.stderr)))?;
        self.add(what, of(&output, "seconds")?);
        Ok(())
    }

    fn add(&mut self, what: &'static str, seconds: f64) {
        println!("{what:<40} {seconds:>8.2} s {:>8.0} MiB/s", rate(seconds));
        self.times.entry(what).or_default().push(seconds);
    }
}

fn of(output: &Value, key: &str) -> Result<f64> {
    output[key].as_f64().with_context(|| format!("the output of the measured program has no `{key}`"))
}

/// Flushes all writes to the disk, so that no measurement waits for the data of another.
fn sync() -> Result<()> {
    process::output(&mut Command::new("sync")).map(|_| ())
}

/// Drops the page cache. Returns whether that succeeded.
fn forget() -> bool {
    sync().is_ok() && fs::write(Path::new(DROP_CACHES), "3").is_ok()
}

/// Speed in MiB per second.
fn rate(seconds: f64) -> f64 {
    (STATE << 10) as f64 / seconds
}

/// Parses the seconds from `4294967296 bytes (4.3 GB, 4.0 GiB) copied, 0.734 s, 5.9 GB/s`.
fn dd_seconds(stderr: &str) -> Option<f64> {
    stderr.split_once("copied, ")?.1.split_whitespace().next()?.parse().ok()
}

/// The compared pairs: shardc's measurement, the measurement that it is compared with, and the minimum ratio of their speeds.
const RATIOS: [(&str, &str, f64); 8] = [
    ("checkpoint, saved", "plain file, written", 0.8),
    ("checkpoint, restored, warm", "plain file, read, warm", 0.8),
    ("checkpoint, restored, cold", "plain file, read, cold", 0.8),
    ("save_async, until the call returns", "plain copy in memory", 1.0),
    ("checkpoint, saved", "Orbax, same layout, saved", 1.0),
    ("checkpoint, saved", "Orbax, its default, saved", 1.0),
    ("checkpoint, restored and kept", "Orbax, same layout, restored", 1.0),
    ("checkpoint, restored and kept", "Orbax, its default, restored", 1.0),
];

/// The tables in Markdown: speeds and memory, and the ratios of speeds.
fn table(times: &Times, extra: &BTreeMap<&'static str, u64>, rounds: usize) -> String {
    let mut out = String::from("| | median | memory in addition to the state |\n|---|---:|---:|\n");
    for (what, seconds) in times {
        let memory = extra.get(what).map_or(String::new(), |&bytes| {
            let shards = bytes as f64 / (SHARD << 20) as f64;
            format!("{shards:.2} shards")
        });
        let _ = writeln!(out, "| {what} | {:.0} MiB/s | {memory} |", rate(median(seconds.iter().copied())));
    }
    out.push_str(
        "\n| | compared with | speed: median | lowest | highest | at least |\n|---|---|---:|---:|---:|---:|\n",
    );
    for (ours, other, least) in RATIOS {
        let (Some(own), Some(others)) = (times.get(ours), times.get(other)) else { continue };
        // The median of the measurements in a round.
        let middle = |all: &[f64], round: usize| {
            let each = all.len() / rounds;
            median(all[round * each..(round + 1) * each].iter().copied())
        };
        let ratios: Vec<f64> = (0..rounds).map(|round| middle(others, round) / middle(own, round)).collect();
        let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        let highest = ratios.iter().copied().fold(0.0, f64::max);
        let _ = writeln!(
            out,
            "| {ours} | {other} | {:.2} | {lowest:.2} | {highest:.2} | {least:.1} |",
            median(ratios.into_iter())
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_dd_is_parsed() {
        let stderr = "64+0 records in\n64+0 records out\n4294967296 bytes (4.3 GB, 4.0 GiB) copied, 0.734 s, 5.9 GB/s\n";
        assert_eq!(dd_seconds(stderr), Some(0.734));
        assert_eq!(dd_seconds("dd: failed to open"), None);
    }

    #[test]
    fn ratios_are_of_speeds_within_a_round() {
        let times = Times::from([
            ("plain file, read, warm", vec![1.0, 3.0, 4.0, 4.0]),
            ("checkpoint, restored, warm", vec![1.0, 1.0, 8.0, 8.0]),
            ("checkpoint, restored and kept", vec![4.0, 4.0]),
            ("Orbax, same layout, restored", vec![2.0, 4.0]),
        ]);
        let table = table(&times, &BTreeMap::from([("checkpoint, restored, warm", 96 << 20)]), 2);
        assert!(table.contains("| checkpoint, restored, warm | 910 MiB/s | 1.50 shards |"), "{table}");
        assert!(table.contains("| plain file, read, warm | 1170 MiB/s |  |"), "{table}");
        let line = "| checkpoint, restored, warm | plain file, read, warm | 1.25 | 0.50 | 2.00 | 0.8 |";
        assert!(table.contains(line), "{table}");
        let line =
            "| checkpoint, restored and kept | Orbax, same layout, restored | 0.75 | 0.50 | 1.00 | 1.0 |";
        assert!(table.contains(line), "{table}");
    }
}
