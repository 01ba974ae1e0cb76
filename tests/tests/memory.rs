//! The estimate of a device's memory stays where it is beside what the TPU compiler takes, whose figures are in
//! `memory.json`: no compiler is needed. `cargo xtask bench --only memory --tpu` asks it again.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;
use shardc_tests::skip::{Need, skipped};
use shardc_tests::{program, root, shared};

#[test]
fn the_estimate_is_what_the_tpu_compiler_takes() {
    let text = std::fs::read_to_string(root().join("memory.json")).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let shardc = program::shardc().unwrap();
    let mut faults = String::new();
    for of in json["programs"].as_array().unwrap() {
        let (name, file) = (of["name"].as_str().unwrap(), of["file"].as_str().unwrap());
        let file = match file.strip_prefix("tests/") {
            Some(file) => root().join(file),
            None => match shared() {
                Some(shared) => shared.join(file),
                None => {
                    skipped(Need::Shared, &format!("{name} of the shared data, which is not here")).unwrap();
                    continue;
                }
            },
        };
        let mut command = Command::new(&shardc);
        command.arg("partition").arg(file).args(["--summary", "--format", "json", "-o", "-"]);
        command.args(of["options"].as_array().unwrap().iter().filter_map(Value::as_str));
        let out = command.output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{name}: {said}");
        let lines = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let summary = lines.into_iter().find(|line| line["type"] == "summary").unwrap();
        let bytes = |key: &str| of["compiler"][key].as_f64().unwrap();
        let need = bytes("arguments") + bytes("outputs") - bytes("aliases") + bytes("temporaries");
        let ratio = summary["memory"]["peak"].as_f64().unwrap() / need;
        let bound = |i: usize| of["band"][i].as_f64().unwrap();
        // Outside of the band of all others only with a reason.
        let is_usual = bound(0) >= 1.0 && bound(1) <= 1.1;
        assert!(is_usual || of["why"].is_string(), "{name} has a band of its own without a reason");
        if !(bound(0)..=bound(1)).contains(&ratio) {
            writeln!(
                faults,
                "{name}: {ratio:.3} of what the compiler takes, not {} to {}",
                bound(0),
                bound(1)
            )
            .unwrap();
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}
