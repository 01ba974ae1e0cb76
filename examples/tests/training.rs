//! Examples that train: the loss falls, and the losses on eight devices equal those of one device.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::io::{BufRead, BufReader, Read};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use shardc::runtime::{Environment, PluginKind, plugin};
use shardc_filetest::quick::xla_flags_for_training;
use shardc_filetest::sample::is_thorough;
use shardc_filetest::skip::{Need, skip};

/// A command that runs an example, with compiler flags for programs that run many steps.
fn example(program: &str) -> Command {
    let mut command = Command::new(program);
    command.env("XLA_FLAGS", xla_flags_for_training());
    command
}

/// The loss of each step.
fn losses(program: &str, arguments: &[&str]) -> Vec<f64> {
    losses_of(example(program).arg("--losses").args(arguments).output().unwrap())
}

fn losses_of(output: Output) -> Vec<f64> {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let loss = |line: &str| {
        let (step, loss) = line.split_once(' ')?;
        step.parse::<u64>().ok()?;
        loss.parse().ok()
    };
    text.lines().skip_while(|line| loss(line).is_none()).map_while(loss).collect()
}

fn trains(program: &str, arguments: &[&str]) {
    trains_alike(program, arguments, &[arguments.to_vec()], 1e-4);
}

/// Checks that the loss falls on many devices. A thorough run also compares the losses with those of one device; every test run compares
/// smaller models of the same kind (`strategies` and `adapters` in `shardc-tests`).
fn trains_on_many_devices(program: &str, arguments: &[&str]) {
    if is_thorough() {
        return trains(program, arguments);
    }
    if has_plugin() {
        assert_falls(&losses(program, arguments));
    }
}

/// Whether there is a CPU plugin. Without it, the test is skipped.
fn has_plugin() -> bool {
    let is_found = plugin::find(PluginKind::Cpu, &Environment::from_process()).is_ok();
    if !is_found {
        skip(Need::CpuPlugin, "training needs the CPU plugin (`shardc plugin install cpu` fetches it)");
    }
    is_found
}

fn assert_falls(losses: &[f64]) {
    assert!(losses[losses.len() - 1] < 0.97 * losses[0], "the loss does not fall: {losses:?}");
}

/// Checks that each configuration has the same losses as one device, within the relative tolerance `tolerance`.
fn trains_alike(program: &str, arguments: &[&str], ways: &[Vec<&str>], tolerance: f64) {
    if !has_plugin() {
        return;
    }
    let one = losses(program, &[arguments, &["--single"]].concat());
    for way in ways {
        let many = losses(program, way);
        assert_eq!(many.len(), one.len());
        for (step, (a, b)) in many.iter().zip(&one).enumerate() {
            assert!(
                (a - b).abs() <= tolerance * b.abs(),
                "{way:?} step {step}: {a} on many devices, {b} on one"
            );
        }
    }
    assert_falls(&one);
}

#[test]
fn digits_classifier_trains() {
    trains(env!("CARGO_BIN_EXE_mnist"), &["--steps", "20", "--examples", "2048"]);
}

/// Every test run trains smaller vision transformers (`strategies` in `shardc-tests`).
#[test]
#[ignore = "slow: cargo xtask sweep --of tests"]
fn vision_transformer_trains() {
    trains(env!("CARGO_BIN_EXE_vit"), &["--steps", "20", "--examples", "2048"]);
}

#[test]
fn decoder_trains() {
    trains(env!("CARGO_BIN_EXE_decoder"), &["--steps", "20", "--layers", "2", "--write", "2"]);
}

/// Starts an example in `count` processes.
fn start(program: &str, arguments: &[&str], count: usize) -> Vec<Child> {
    let at = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let of = |index: usize| {
        example(program)
            .arg("--losses")
            .args(arguments)
            .env("SHARDC_PROCESS_ID", index.to_string())
            .env("SHARDC_NUM_PROCESSES", count.to_string())
            .env("SHARDC_COORDINATOR", &at)
            .env("SHARDC_SECRET", "a secret that only tests know")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    (0..count).map(of).collect()
}

/// Two processes have the same losses as one, and one process resumes from the checkpoint and the position that two processes saved.
#[test]
fn multi_process_training_matches_one_process() {
    if !has_plugin() {
        return;
    }
    let decoder = env!("CARGO_BIN_EXE_decoder");
    let arguments = ["--layers", "2", "--write", "0", "--steps"];
    let one = losses(decoder, &[&arguments[..], &["12"]].concat());
    let writing = ["--layers", "2", "--write", "2", "--steps"];
    let folder = tempfile::tempdir().unwrap();
    let saving = ["--checkpoints", folder.path().to_str().unwrap(), "--save-every", "4"];
    let alike = |many: &[f64], one: &[f64]| {
        assert_eq!(many.len(), one.len());
        for (step, (a, b)) in many.iter().zip(one).enumerate() {
            assert!((a - b).abs() <= 1e-5 * b.abs(), "step {step}: {a} in several processes, {b} in one");
        }
    };
    // The test `gloo` of `shardc-tests` compares four processes in every test run.
    if is_thorough() {
        for child in start(decoder, &[&arguments[..], &["4"]].concat(), 4) {
            alike(&losses_of(child.wait_with_output().unwrap()), &one[..4]);
        }
    }
    for child in start(decoder, &[&writing[..], &["8"], &saving].concat(), 2) {
        alike(&losses_of(child.wait_with_output().unwrap()), &one[..8]);
    }
    alike(&losses(decoder, &[&arguments[..], &["12"], &saving].concat()), &one[8..]);
}

#[test]
fn killed_process_ends_the_other() {
    if !has_plugin() {
        return;
    }
    let mut running = start(env!("CARGO_BIN_EXE_decoder"), &["--layers", "2"], 2);
    let mut killed = running.pop().unwrap();
    let mut other = running.pop().unwrap();
    // The process is training once it has printed the first step.
    let mut line = String::new();
    let mut output = BufReader::new(other.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert!(line.starts_with("0 "), "{line}");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let started = Instant::now();
    output.read_to_string(&mut line).unwrap();
    let status = other.wait().unwrap();
    assert!(started.elapsed() < Duration::from_secs(10), "{:?}", started.elapsed());
    let mut error = String::new();
    other.stderr.take().unwrap().read_to_string(&mut error).unwrap();
    assert!(!status.success() && error.contains("process 1") && error.contains("is gone"), "{error}");
}

#[test]
fn lstm_trains() {
    trains(env!("CARGO_BIN_EXE_lstm"), &["--steps", "20", "--write", "0"]);
}

#[test]
fn mixture_of_experts_trains() {
    trains_on_many_devices(env!("CARGO_BIN_EXE_moe"), &["--steps", "20", "--write", "0"]);
}

/// A strategy for the language model, and its mesh.
const STRATEGIES: [(&str, &str); 1] = [("hybrid_shard_zero2", "node=2,fsdp=4")];

/// The other strategies. The tests of `shardc-tests` run all of them on smaller steps.
const OTHER_STRATEGIES: [(&str, &str); 5] = [
    ("zero1", "data=8"),
    ("full_shard", "fsdp=8"),
    ("no_shard", "data=8"),
    ("shard_grad_op", "fsdp=8"),
    ("hybrid_shard", "node=2,fsdp=4"),
];

#[test]
fn digits_classifier_trains_with_fsdp() {
    trains_on_many_devices(env!("CARGO_BIN_EXE_mnist_fsdp"), &["--steps", "20", "--examples", "2048"]);
}

/// The options of a short run of the language model.
const SHORT: [&str; 6] = ["--steps", "20", "--layers", "2", "--write", "0"];

fn decoder_trains_with(strategies: &[(&str, &str)]) {
    let ways: Vec<Vec<&str>> = strategies
        .iter()
        .map(|&(words, mesh)| [&SHORT[..], &["--fsdp", words, "--mesh", mesh]].concat())
        .collect();
    trains_alike(env!("CARGO_BIN_EXE_decoder_fsdp"), &SHORT, &ways, 1e-4);
}

#[test]
fn decoder_trains_with_strategies() {
    if is_thorough() {
        return decoder_trains_with(&STRATEGIES);
    }
    let [(words, mesh)] = STRATEGIES;
    let arguments = [&SHORT[..], &["--fsdp", words, "--mesh", mesh]].concat();
    trains_on_many_devices(env!("CARGO_BIN_EXE_decoder_fsdp"), &arguments);
}

#[test]
#[ignore = "slow: cargo xtask sweep --of tests"]
fn decoder_trains_with_other_strategies() {
    decoder_trains_with(&OTHER_STRATEGIES);
}

#[test]
fn hybrid_shard_trains() {
    trains_on_many_devices(
        env!("CARGO_BIN_EXE_hybrid_shard"),
        &["--steps", "20", "--layers", "2", "--write", "0"],
    );
}

#[test]
fn resnet_trains() {
    trains_on_many_devices(
        env!("CARGO_BIN_EXE_resnet_data_parallel"),
        &["--steps", "20", "--examples", "2048"],
    );
}

/// Every test run trains a smaller ResNet (`resnet_trains`), and reads image folders (unit tests of `shardc-data`).
#[test]
#[ignore = "slow: cargo xtask sweep --of tests"]
fn resnet50_trains_on_image_folders() {
    trains(env!("CARGO_BIN_EXE_resnet50_imagenet"), &["--steps", "20", "--checkpoint", "--rate", "0.01"]);
}

/// Every test run trains the same adapters on a smaller model (`adapters` in `shardc-tests`).
#[test]
#[ignore = "slow: cargo xtask sweep --of tests"]
fn lora_adapters_train() {
    trains(env!("CARGO_BIN_EXE_lora"), &["--steps", "20"]);
}

/// Every test run trains the same adapters on a smaller model (`adapters` in `shardc-tests`).
#[test]
#[ignore = "slow: cargo xtask sweep --of tests"]
fn qlora_adapters_train() {
    trains(env!("CARGO_BIN_EXE_qlora"), &["--steps", "20"]);
}

/// The relative rounding error of bf16; the losses of a program that computes in bf16 depend on the order of summation.
const ROUNDING_OF_BF16: f64 = 1.0 / 256.0;

fn accelerate_file_trains(trained: &str, tolerance: f64) {
    let arguments = ["--trained", trained, "--steps", "20"];
    trains_alike(env!("CARGO_BIN_EXE_accelerate_yaml"), &arguments, &[arguments.to_vec()], tolerance);
}

/// Trains with a file of `examples/data` whose precision is changed from bf16 to f32.
fn accelerate_file_trains_in_f32(trained: &str, text: &str) {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("f32.yaml");
    let text_in_f32 = text.replace("mixed_precision: bf16", "mixed_precision: 'no'");
    assert_ne!(text_in_f32, text);
    std::fs::write(&config, text_in_f32).unwrap();
    let arguments = ["--trained", trained, "--steps", "20", "--config", config.to_str().unwrap()];
    trains(env!("CARGO_BIN_EXE_accelerate_yaml"), &arguments);
}

#[test]
fn accelerate_file_trains_bert() {
    accelerate_file_trains("bert", ROUNDING_OF_BF16);
}

/// Every test run trains adapters (`adapters` in `shardc-tests`), and with a file of Accelerate (`accelerate_file_trains_bert`).
#[test]
#[ignore = "slow: cargo xtask sweep --of tests"]
fn accelerate_file_trains_lora_in_f32() {
    accelerate_file_trains_in_f32("lora", include_str!("../data/peft_lora.yaml"));
}

#[test]
#[ignore = "slow: cargo xtask sweep --of tests"]
fn accelerate_file_trains_qlora() {
    accelerate_file_trains("qlora", 1e-4);
}

#[test]
#[ignore = "slow: cargo xtask sweep --of tests"]
fn accelerate_file_trains_lora() {
    accelerate_file_trains("lora", ROUNDING_OF_BF16);
}

#[test]
#[ignore = "slow: cargo xtask sweep --of tests"]
fn accelerate_file_trains_bert_in_f32() {
    accelerate_file_trains_in_f32("bert", include_str!("../data/accelerate_bert.yaml"));
}

/// A killed run resumes from the last complete checkpoint with the losses of an uninterrupted run, also with a different strategy and mesh.
/// On SIGTERM, a run saves before it ends.
#[test]
fn killed_run_resumes() {
    if !has_plugin() {
        return;
    }
    let program = env!("CARGO_BIN_EXE_decoder_fsdp");
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().to_str().unwrap();
    let short = ["--steps", "14", "--layers", "1", "--write", "2", "--train", "14"];
    let whole = losses(program, &short);
    let saving = [&short[..], &["--checkpoints", folder, "--save-every", "3"]].concat();
    let slow = [&saving[..], &["--pause", "300", "--losses"]].concat();
    let started = |arguments: &[&str]| {
        example(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let until = |step: u64| {
        let end = Instant::now() + Duration::from_secs(120);
        while !std::path::Path::new(folder).join(step.to_string()).exists() {
            assert!(Instant::now() < end, "step {step} is not saved");
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let mut killed = started(&slow);
    until(3);
    killed.kill().unwrap();
    killed.wait().unwrap();
    // The next process resumes on another mesh, until SIGTERM.
    let other = [&slow[..], &["--fsdp", "hybrid_shard", "--mesh", "node=2,fsdp=2"]].concat();
    let mut terminated = started(&other);
    until(6);
    let sent = Command::new("kill").args(["-TERM", &terminated.id().to_string()]).status().unwrap();
    assert!(sent.success() && terminated.wait().unwrap().success());
    let rest = losses(program, &saving);
    assert!(rest.len() < 9 && !rest.is_empty(), "{} steps were left", rest.len());
    for (a, b) in rest.iter().rev().zip(whole.iter().rev()) {
        assert!((a - b).abs() <= 1e-4 * b.abs(), "{rest:?} behind {whole:?}");
    }
}
