//! The output of the examples.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::Command;

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

/// The guide trains LoRA on 8 devices of 80 GB and reports a use of 72 to 80 GB. It trains QLoRA on 2 devices of 24 GB, with parameters
/// in 107 GB of host memory. Its script stores parameters in f32, and with QLoRA in bf16.
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
