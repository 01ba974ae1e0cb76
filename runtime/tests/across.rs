//! Tests of programs in several processes on this machine, with cross-process collectives, and of the behavior when a process is killed.
//!
//! This test has its own `main`: each process of a job is this program again, with the name of its task as an argument.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

mod common;

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use common::{Watchdog, found};
use shardc_ir::DType;
use shardc_runtime::{
    Client, ClientOptions, CompileOptions, HostArray, Plugin, PluginKind, ProcessOptions, Processes,
    ShardLayout, ShardedArray, plugin,
};

const DEVICES: usize = 2;

/// A program that subtracts the mean of all devices' blocks from each block, in a loop of `%n` iterations, and gathers the device indices.
/// `PER` and `GROUPS` are placeholders.
const STEP: &str = r#"
module @step attributes {mhlo.num_replicas = 2 : i32, mhlo.num_partitions = 1 : i32} {
  func.func public @main(%x: tensor<2xf32>, %n: tensor<i32>) -> (tensor<2xf32>, tensor<NUMxui32>) {
    %first = stablehlo.custom_call @shardc.first_device() {api_version = 4 : i32} : () -> tensor<ui32>
    %local = stablehlo.replica_id : tensor<ui32>
    %device = stablehlo.add %first, %local : tensor<ui32>
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %count = stablehlo.constant dense<NUM.0> : tensor<2xf32>
    %r:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<2xf32>
    cond {
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %sum = stablehlo.custom_call @shardc.collective(%y, %device) {api_version = 4 : i32, has_side_effect = true,
        backend_config = {collective = "all_reduce channel=1 per=2 by=add types=f32 groups=GROUP"}}
        : (tensor<2xf32>, tensor<ui32>) -> tensor<2xf32>
      %mean = stablehlo.divide %sum, %count : tensor<2xf32>
      %next = stablehlo.subtract %y, %mean : tensor<2xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %next : tensor<i32>, tensor<2xf32>
    }
    %mine = stablehlo.reshape %device : (tensor<ui32>) -> tensor<1xui32>
    %all = stablehlo.custom_call @shardc.collective(%mine, %device) {api_version = 4 : i32, has_side_effect = true,
      backend_config = {collective = "all_gather channel=2 per=2 dim=0 types=ui32 groups=GROUP"}}
      : (tensor<1xui32>, tensor<ui32>) -> tensor<NUMxui32>
    return %r#1, %all : tensor<2xf32>, tensor<NUMxui32>
  }
}
"#;

fn program(devices: usize) -> String {
    let group: Vec<String> = (0..devices).map(|device| device.to_string()).collect();
    STEP.replace("GROUP", &group.join(",")).replace("NUM", &devices.to_string())
}

/// Runs the task of one process of a job, and prints lines that the test reads.
#[expect(clippy::print_stdout, reason = "the test reads it")]
fn process(task: &str, options: ProcessOptions) {
    let plugin = Plugin::load(&found(PluginKind::Cpu).unwrap().path).unwrap();
    let processes = Processes::connect(options).unwrap();
    let client = Client::across(
        &plugin,
        PluginKind::Cpu,
        ClientOptions { cpu_device_count: Some(DEVICES) },
        &processes,
    )
    .unwrap();
    let devices = DEVICES * processes.count();
    let text = if task == "another" && processes.index() == 1 {
        program(devices).replace("@step", "@other")
    } else {
        program(devices)
    };
    let step = client.compile_across(text.as_bytes(), &CompileOptions::replicas(DEVICES)).unwrap();
    let layout =
        ShardLayout::new(&[2 * devices], &[devices], (0..devices).map(|d| vec![d]).collect()).unwrap();
    let x = ShardedArray::from_callback(&client, step.placement(), layout.clone(), DType::F32, |block| {
        let from = block.offsets[0] as f64;
        HostArray::from_f64(DType::F32, &block.extent, &[from, -from])
    })
    .unwrap();
    let whole = |dtype, value| {
        let layout = ShardLayout::replicated(&[], devices).unwrap();
        let value = HostArray::filled(dtype, &[], value).unwrap();
        ShardedArray::from_host(&client, step.placement(), layout, &value).unwrap()
    };
    let run = |rounds: f64| {
        let arguments =
            ShardedArray::argument_lists(&[x.clone(), whole(DType::I32, rounds)], DEVICES).unwrap();
        let results = step.execute(&arguments)?;
        let gathered = ShardLayout::replicated(&[devices], devices).unwrap();
        ShardedArray::from_results_on(step.placement(), &results, &[layout.clone(), gathered])
    };
    match task {
        "values" => {
            let results = run(3.0).unwrap();
            // The gathered device indices are replicated on each device.
            let numbers: Vec<u32> = results[1].to_host().unwrap().to_vec().unwrap();
            assert_eq!(numbers, (0..devices as u32).collect::<Vec<_>>());
            let error = results[0].to_host().unwrap_err();
            assert_eq!(error.code(), "RT0402", "{error}");
            let all = results[0].to_host_across(&processes).unwrap().to_f64_vec();
            let mean = (0..devices).map(|d| 2.0 * d as f64).sum::<f64>() / devices as f64;
            let expected: Vec<f64> =
                (0..devices).flat_map(|d| [2.0 * d as f64 - mean, mean - 2.0 * d as f64]).collect();
            assert_eq!(all, expected);
            // A stress test: many executions with many iterations each.
            for _ in 0..50 {
                run(20.0).unwrap();
            }
            processes.barrier("done").unwrap();
            println!("right");
        }
        "killed" | "stopped" | "another" => {
            println!("ready");
            let error = loop {
                match run(1000.0) {
                    Ok(_) => {}
                    Err(error) => break error,
                }
            };
            println!("{} {error}", error.code());
            // After the failure the job cannot continue: a barrier fails at once instead of hanging.
            println!("{}", processes.barrier("after").unwrap_err().code());
        }
        _ => panic!("{task}"),
    }
}

/// The test's handle of one process.
struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(task: &str, count: usize) -> Vec<Running> {
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let of = |index: usize| {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(task)
            .env("SHARDC_PROCESS_ID", index.to_string())
            .env("SHARDC_NUM_PROCESSES", count.to_string())
            .env("SHARDC_COORDINATOR", &at)
            .env("SHARDC_SECRET", "a secret that only tests know")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Running { child, output }
    };
    (0..count).map(of).collect()
}

fn values(count: usize) {
    for mut running in start("values", count) {
        let mut text = String::new();
        running.output.read_to_string(&mut text).unwrap();
        assert!(running.child.wait().unwrap().success());
        assert_eq!(text.trim(), "right");
    }
}

/// Starts `count` processes and calls `happens` with the last one, for example to kill it. Checks that all other processes then report an
/// error that contains `says`, within the time `within`.
fn ends_all(task: &str, count: usize, happens: impl Fn(&Running), within: Duration, says: &str) {
    let mut running = start(task, count);
    for process in &mut running {
        assert_eq!(process.line(), "ready");
    }
    // Waits until an execution is in progress.
    std::thread::sleep(Duration::from_millis(500));
    let last = running.pop().unwrap();
    happens(&last);
    let started = Instant::now();
    for process in &mut running {
        let line = process.line();
        assert!(started.elapsed() < within, "{line} after {:?}", started.elapsed());
        assert!(line.starts_with("RT0702") && line.contains(says), "{line}");
        assert_eq!(process.line(), "RT0702");
    }
}

fn main() {
    assert!(plugin::quiet_plugin_logs(), "this is the only thread so far");
    if let Some(task) = std::env::args().nth(1).filter(|task| !task.starts_with('-')) {
        let options = ProcessOptions::from_variables(|name| std::env::var(name).ok()).unwrap();
        process(&task, options.unwrap());
        return;
    }
    let _watchdog = Watchdog::start(180);
    if found(PluginKind::Cpu).is_none() {
        return;
    }
    values(2);
    values(4);
    let seconds = Duration::from_secs;
    for count in [2, 4] {
        ends_all("killed", count, |last| last.signal("-KILL"), seconds(10), "is gone");
    }
    ends_all("stopped", 2, |last| last.signal("-STOP"), seconds(10), "has been silent for 5.0 s");
    ends_all("another", 2, |_| {}, seconds(10), "a different program");
    eprintln!("test result: ok");
}
