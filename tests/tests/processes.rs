//! Partitioned programs that run in several processes produce the results of their original programs.
//!
//! Every third program of `programs/` runs on eight devices, of two processes in one mode and of four processes in the other mode. Large
//! programs are omitted, because they compile slowly. A thorough run executes all programs in two processes in replica mode. The processes
//! run this test binary. Each process compares its results with those that it computes on one device. Without the CPU plugin, the test is
//! skipped with a message.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use libtest_mimic::{Arguments, Failed, Trial};
use shardc::{Compiler, SpmdMode};
use shardc_runtime::{
    Client, ClientOptions, Environment, Plugin, PluginKind, ProcessOptions, Processes, plugin,
};
use shardc_tests::devices::{Reference, Verdict, compare};
use shardc_tests::sample::is_thorough;
use shardc_tests::skip::{Need, skipped};
use shardc_tests::{files, root};

/// The number of devices of all processes together.
const DEVICES: usize = 8;

/// The environment variable that passes the SPMD mode to the processes, in addition to the variables of their job.
const MODE: &str = "SHARDC_TEST_MODE";

/// Programs with at least this many bytes of text are large.
const LARGE: u64 = 16 << 10;

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    if let Ok(mode) = std::env::var(MODE) {
        return process(if mode == "partition" { SpmdMode::Partition } else { SpmdMode::Replica });
    }
    let arguments = Arguments::from_args();
    let trials = [(2, "replica"), (2, "partition"), (4, "replica"), (4, "partition")]
        .map(|(count, mode)| Trial::test(format!("{count}_processes_{mode}"), move || job(count, mode)));
    // Processes of one job wait for each other, so parallel jobs would only wait longer.
    let arguments = Arguments { test_threads: Some(1), ..arguments };
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

/// Starts the processes, and passes if all of them succeed.
fn job(count: usize, mode: &str) -> Result<(), Failed> {
    if plugin::find(PluginKind::Cpu, &Environment::from_process()).is_err() {
        let reason = "running programs needs the CPU plugin (`shardc plugin install cpu` fetches it)";
        return Ok(skipped(Need::CpuPlugin, reason)?);
    }
    let at = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let start = |index: usize| {
        Command::new(std::env::current_exe()?)
            .env(MODE, mode)
            .env("SHARDC_PROCESS_ID", index.to_string())
            .env("SHARDC_NUM_PROCESSES", count.to_string())
            .env("SHARDC_COORDINATOR", &at)
            .env("SHARDC_SECRET", "a secret that only tests know")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
    };
    let running = (0..count).map(start).collect::<Result<Vec<_>, _>>()?;
    let mut faults = Vec::new();
    for (index, child) in running.into_iter().enumerate() {
        let output = child.wait_with_output()?;
        if !output.status.success() {
            let text = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
            faults.push(format!("process {index} ({}):\n{}", output.status, text.concat()));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}

/// Runs all programs in one process, in the same order as the other processes.
#[expect(clippy::print_stdout, reason = "the test shows it where it fails")]
fn process(mode: SpmdMode) -> ExitCode {
    let options = ProcessOptions::from_variables(|name| std::env::var(name).ok()).unwrap().unwrap();
    let found = plugin::find(PluginKind::Cpu, &Environment::from_process()).unwrap();
    let plugin = Plugin::load(&found.path).unwrap();
    let processes = Processes::connect(options).unwrap();
    let per = DEVICES / processes.count();
    let client =
        Client::across(&plugin, PluginKind::Cpu, ClientOptions { cpu_device_count: Some(per) }, &processes)
            .unwrap();
    let mut faults = 0;
    for (i, path) in files(&root().join("programs"), "mlir").unwrap().into_iter().enumerate() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let is_large = path.metadata().unwrap().len() >= LARGE;
        // Each of the four combinations of processes and mode runs every twelfth program.
        let combination = 2 * usize::from(processes.count() == 2) + usize::from(mode == SpmdMode::Replica);
        let is_sampled = !is_large && i % 12 == 3 * combination;
        let are_all_run = is_thorough() && (processes.count(), mode) == (2, SpmdMode::Replica);
        if !is_sampled && !are_all_run {
            continue;
        }
        let started = Instant::now();
        let outcome = equal(&client, &path, mode);
        println!("{name}: {:.2} s", started.elapsed().as_secs_f64());
        if let Err(error) = outcome {
            println!("{name}: {error}");
            faults += 1;
            if processes.check().is_err() {
                return ExitCode::FAILURE;
            }
        }
    }
    processes.barrier("done").unwrap();
    if faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn equal(client: &Client, path: &Path, mode: SpmdMode) -> Result<(), String> {
    let original = Compiler::read(&std::fs::read(path).unwrap()).map_err(|e| e.to_string())?;
    let output =
        Compiler::new().spmd_mode(mode).partition_module(original.clone()).map_err(|e| e.to_string())?;
    if !output.num_devices().is_multiple_of(client.processes().map_or(1, Processes::count)) {
        return Ok(());
    }
    let reference = Reference::new(client, original, &output)?;
    match compare(client, &reference, &output) {
        Verdict::Equal => Ok(()),
        Verdict::Wrong(why) | Verdict::Refused(why) => Err(why),
    }
}
