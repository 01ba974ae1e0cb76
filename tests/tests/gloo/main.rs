//! Partitioned programs produce the same results in several shardc processes as in JAX processes, whose devices communicate through gloo.
//!
//! First, shardc processes run the programs and record the inputs and outputs of each device. Then as many Python processes
//! (`data/gloo.py`) run the same text and compare the results. So cross-process collectives are compared with another implementation, not
//! only with one device. The programs cover every kind of collective, over all devices and over groups that span processes, each reduction,
//! each element type of gloo, bit for bit, and a training step. Needs the CPU plugin and `SHARDC_PYTHON`; without them, the test is skipped
//! with a message.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod programs;

use std::ffi::OsString;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::{Value, json};
use shardc::{Compiler, Output, SpmdMode, exec};
use shardc_runtime::{
    Client, ClientOptions, Environment, HostArray, Plugin, PluginKind, ProcessOptions, Processes, plugin,
};
use shardc_tests::root;
use shardc_tests::sample::sample;
use shardc_tests::skip::{Need, skipped};

use crate::programs::{DEVICES, Program};

/// The environment variable that names the output folder of child processes. The parent does not have it.
const FOLDER: &str = "SHARDC_TEST_FOLDER";

fn main() -> ExitCode {
    // Environment variables must be set before any thread starts and any plugin is loaded.
    plugin::quiet_plugin_logs();
    if let Some(folder) = std::env::var_os(FOLDER) {
        process(Path::new(&folder));
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::from_args();
    let trials = [2, 4].map(|count| Trial::test(format!("{count}_processes"), move || same(count)));
    // Processes of one job wait for each other, so parallel jobs would only wait longer.
    libtest_mimic::run(&Arguments { test_threads: Some(1), ..arguments }, trials.into()).exit_code()
}

/// Runs both jobs, and passes if all of their processes succeed.
fn same(count: usize) -> Result<(), Failed> {
    if plugin::find(PluginKind::Cpu, &Environment::from_process()).is_err() {
        let reason = "running programs needs the CPU plugin (`shardc plugin install cpu` fetches it)";
        return Ok(skipped(Need::CpuPlugin, reason)?);
    }
    let Some(python) = std::env::var_os("SHARDC_PYTHON") else {
        return Ok(skipped(Need::Python, "SHARDC_PYTHON names no Python with jax")?);
    };
    let folder = tempfile::tempdir()?;
    job(count, |index, at| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.env(FOLDER, folder.path());
        command.env("SHARDC_PROCESS_ID", index.to_string()).env("SHARDC_COORDINATOR", at);
        command.env("SHARDC_NUM_PROCESSES", count.to_string());
        command.env("SHARDC_SECRET", "a secret that only tests know");
        command
    })?;
    let outputs = job(count, |index, at| python_process(&python, folder.path(), at, count, index))?;
    // The last line of each process is the number of results that it compared. Earlier lines are messages of gloo.
    let last = |text: &String| text.lines().last().unwrap_or_default().trim().parse::<usize>();
    let compared = outputs.iter().map(last).sum::<Result<usize, _>>();
    let written = fs::read_to_string(folder.path().join("results"))?.parse::<usize>()?;
    match compared {
        Ok(compared) if compared == written * DEVICES => Ok(()),
        _ => Err(format!("{written} results of {DEVICES} devices were to compare: {outputs:?}").into()),
    }
}

fn python_process(python: &OsString, folder: &Path, at: &str, count: usize, index: usize) -> Command {
    let mut command = Command::new(python);
    command.arg(root().join("tests/data/gloo.py")).arg(folder).arg(at);
    command.args([count.to_string(), index.to_string()]);
    command
}

/// Starts the processes of a job, which connect to an address; returns their output if all succeed.
fn job(count: usize, start: impl Fn(usize, &str) -> Command) -> Result<Vec<String>, Failed> {
    let at = TcpListener::bind("127.0.0.1:0")?.local_addr()?.to_string();
    let spawn = |index| start(index, &at).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let running = (0..count).map(spawn).collect::<Result<Vec<_>, _>>()?;
    let (mut outputs, mut faults) = (Vec::new(), Vec::new());
    for (index, child) in running.into_iter().enumerate() {
        let output = child.wait_with_output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            faults.push(format!("process {index} ({}):\n{text}{error}", output.status));
        }
        outputs.push(text);
    }
    if faults.is_empty() { Ok(outputs) } else { Err(faults.join("\n").into()) }
}

/// The task of a shardc process: runs all programs, and writes the inputs and outputs of its devices.
fn process(folder: &Path) {
    let options = ProcessOptions::from_variables(|name| std::env::var(name).ok()).unwrap().unwrap();
    let found = plugin::find(PluginKind::Cpu, &Environment::from_process()).unwrap();
    let plugin = Plugin::load(&found.path).unwrap();
    let processes = Processes::connect(options).unwrap();
    let options = ClientOptions { cpu_device_count: Some(DEVICES / processes.count()) };
    let client = Client::across(&plugin, PluginKind::Cpu, options, &processes).unwrap();
    let mut results = 0;
    for (i, program) in programs::all().into_iter().enumerate() {
        let original = Compiler::read(program.text.as_bytes()).unwrap();
        // In one mode with two or with four processes; in a thorough run, in both modes with both.
        let combinations =
            [2, 4].map(|count| [SpmdMode::Replica, SpmdMode::Partition].map(|mode| (count, mode)));
        let combinations = combinations.as_flattened().iter().copied();
        for (_, mode) in sample(combinations, i, 4).filter(|&(count, _)| count == processes.count()) {
            let output = Compiler::new().spmd_mode(mode).partition_module(original.clone()).unwrap();
            let folder = folder.join(format!("{} {mode:?}", program.name));
            fs::create_dir_all(&folder).unwrap();
            if processes.index() == 0 {
                write_program(&output, &program, mode, &folder);
            }
            results += write_values(&client, &output, &program, &folder);
        }
    }
    if processes.index() == 0 {
        fs::write(folder.join("results"), results.to_string()).unwrap();
    }
    processes.barrier("done").unwrap();
}

fn write_program(output: &Output, program: &Program, mode: SpmdMode, folder: &Path) {
    assert_eq!(output.num_devices(), DEVICES, "{}", program.name);
    let text = output.backend_text().unwrap();
    let missing = program.has.iter().find(|kind| !text.contains(&format!("\"stablehlo.{kind}\"")));
    assert_eq!(missing, None, "{} lost a collective on its way", program.name);
    let (replicas, partitions) = match mode {
        SpmdMode::Replica => (DEVICES, 1),
        SpmdMode::Partition => (1, DEVICES),
    };
    let about = json!({ "replicas": replicas, "partitions": partitions, "exact": program.is_exact });
    fs::write(folder.join("program.json"), about.to_string()).unwrap();
    fs::write(folder.join("program.mlir"), text).unwrap();
}

/// Runs the program, and writes the blocks of this process's devices; returns the number of results.
fn write_values(client: &Client, output: &Output, program: &Program, folder: &Path) -> usize {
    let inputs = program.inputs(&output.interface);
    let program = exec::Program::partitioned(client, output).unwrap();
    let inputs = program.put(client, &inputs).unwrap();
    let outputs = program.step(&inputs).unwrap();
    for &place in program.executable().placement().places() {
        let taken = inputs.iter().map(|array| {
            // Inputs are written with padding; the padding of results is unspecified and not written.
            let at = array.places().iter().position(|&known| known == place).unwrap();
            array.buffers()[at].to_host().unwrap()
        });
        let given = outputs.iter().map(|array| array.shard(place).unwrap().unwrap().1);
        let about = json!({
            "inputs": write_blocks(&folder.join(format!("{place}.in")), taken),
            "outputs": write_blocks(&folder.join(format!("{place}.out")), given),
        });
        fs::write(folder.join(format!("{place}.json")), about.to_string()).unwrap();
    }
    outputs.len()
}

/// Writes blocks to `PREFIX.NUMBER`, and returns their descriptions.
fn write_blocks(prefix: &Path, blocks: impl Iterator<Item = HostArray>) -> Vec<Value> {
    let write = |(i, block): (usize, HostArray)| {
        let mut path = prefix.as_os_str().to_owned();
        path.push(format!(".{i}"));
        fs::write(PathBuf::from(path), &block.data).unwrap();
        json!({ "dtype": block.dtype.as_str(), "shape": block.shape })
    };
    blocks.enumerate().map(write).collect()
}
