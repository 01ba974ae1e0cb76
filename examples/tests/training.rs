//! Examples that train: the loss falls, and on eight devices it is that of one, step by step.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::process::Command;

use shardc::runtime::{Environment, PluginKind, plugin};
use shardc_filetest::skip::{Need, skip};

/// The loss of each step.
fn losses(program: &str, arguments: &[&str]) -> Vec<f64> {
    let output = Command::new(program).arg("--losses").args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let loss = |line: &str| {
        let (step, loss) = line.split_once(' ')?;
        step.parse::<u64>().ok()?;
        loss.parse().ok()
    };
    text.lines().map_while(loss).collect()
}

fn trains(program: &str, arguments: &[&str]) {
    if plugin::find(PluginKind::Cpu, &Environment::from_process()).is_err() {
        skip(Need::CpuPlugin, "training needs the CPU plugin (`shardc plugin install cpu` fetches it)");
        return;
    }
    let many = losses(program, arguments);
    let one = losses(program, &[arguments, &["--single"]].concat());
    assert_eq!(many.len(), one.len());
    for (step, (a, b)) in many.iter().zip(&one).enumerate() {
        assert!((a - b).abs() <= 1e-4 * b.abs(), "step {step}: {a} on eight devices, {b} on one");
    }
    let (first, last) = (many[0], many[many.len() - 1]);
    assert!(last < 0.97 * first, "the loss does not fall: {many:?}");
}

#[test]
fn digits_are_learnt() {
    trains(env!("CARGO_BIN_EXE_mnist"), &["--steps", "8", "--examples", "512"]);
}

#[test]
fn digits_are_learnt_by_a_transformer() {
    trains(env!("CARGO_BIN_EXE_vit"), &["--steps", "8", "--examples", "512"]);
}

#[test]
fn sonnets_are_learnt() {
    trains(env!("CARGO_BIN_EXE_decoder"), &["--steps", "8", "--layers", "2", "--write", "2"]);
}

#[test]
fn sonnets_are_learnt_by_a_recurrent_layer() {
    trains(env!("CARGO_BIN_EXE_lstm"), &["--steps", "12", "--write", "2"]);
}

#[test]
fn sonnets_are_learnt_by_experts() {
    trains(env!("CARGO_BIN_EXE_moe"), &["--steps", "8", "--write", "2"]);
}
