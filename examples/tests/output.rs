//! Tests the output of examples, and that each example has a test.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::Command;

use shardc::runtime::{Environment, PluginKind, plugin};
use shardc_filetest::skip::{Need, skip};

fn run(program: &str) -> String {
    run_with(program, "")
}

fn run_with(program: &str, arguments: &str) -> String {
    let output = Command::new(program).args(arguments.split_whitespace()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn spmd_user_guide() {
    let output = run(env!("CARGO_BIN_EXE_spmd_user_guide"));
    // The output after an empty line and "Run" or "Not run" depends on whether the plugin is installed.
    let (pictures, rest) = output.rsplit_once("\n\n").unwrap();
    insta::assert_snapshot!(pictures);
    if rest.starts_with("Not run") {
        skip(Need::CpuPlugin, &format!("running the example: {}", rest.trim_end()));
    } else {
        assert!(rest.contains("Equal to the result of one device: true"), "{rest}");
    }
}

/// PEFT's guide trains LoRA on 8 devices with 80 GB and reports a memory use of 72 to 80 GB. The guide trains QLoRA on 2 devices of 24 GB,
/// with parameters in 107 GB of host memory. The script stores parameters in f32, and with QLoRA in bf16.
#[test]
fn llama_70b_memory_matches_peft_guide() {
    let estimated = |output: &str| -> [f64; 2] {
        let (_, text) = output.rsplit_once("estimated ").unwrap();
        let (device, host) = text.split_once(" at the peak, ").unwrap();
        [device, host].map(|text| {
            let (number, _) = text.split_once(" GiB").unwrap();
            number.parse::<f64>().unwrap() * f64::from(1 << 30) / 1e9
        })
    };
    let guide = "--devices 8 --sequences 8 --parts 4 --f32";
    let [device, _] = estimated(&run_with(env!("CARGO_BIN_EXE_lora_70b"), guide));
    assert!((72.0..=80.0).contains(&device), "{device} GB");
    let [device, host] = estimated(&run_with(env!("CARGO_BIN_EXE_qlora_70b"), "--devices 2 --offload"));
    assert!(device <= 24.0, "{device} GB");
    assert!(2.0 * host <= 107.0, "{host} GB of host memory for each");
}

/// The example prints the smallest slice that fits, and the estimated memory of each device.
#[test]
fn smallest_slice_of_vit_10b() {
    let output = run_with(env!("CARGO_BIN_EXE_vit_10b"), "--estimate");
    assert!(output.starts_with("v5p:2x2x1, 4 devices of 95.73 GiB"), "{output}");
    assert!(output.contains("10,077,927,400") && output.contains("at the peak"), "{output}");
}

/// Without `--losses`, an example shows its progress and a summary.
#[test]
fn training_shows_a_summary() {
    if plugin::find(PluginKind::Cpu, &Environment::from_process()).is_err() {
        skip(Need::CpuPlugin, "training needs the CPU plugin (`shardc plugin install cpu` fetches it)");
        return;
    }
    let output = run_with(env!("CARGO_BIN_EXE_mnist"), "--steps 3 --examples 2048");
    assert!(output.contains("held-out digits are classified correctly"), "{output}");
}

#[test]
fn every_example_has_a_test() {
    let manifest = include_str!("../Cargo.toml");
    let tests = [include_str!("output.rs"), include_str!("training.rs")];
    let bins = manifest.split("[[bin]]\nname = \"").skip(1).filter_map(|bin| bin.split('"').next());
    let bins: Vec<&str> = bins.collect();
    assert!(bins.len() > 10, "{bins:?}");
    for bin in bins {
        let use_of = format!("CARGO_BIN_EXE_{bin}\"");
        assert!(tests.iter().any(|text| text.contains(&use_of)), "no test runs the example {bin}");
    }
}
