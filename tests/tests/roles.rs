//! What the arguments of real training steps are: each class of the shared data's manifests is found.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use serde_json::Value;
use shardc::Compiler;
use shardc_strategy::{Said, roles};
use shardc_tests::shared;
use shardc_tests::skip::{Need, skipped};

#[test]
fn arguments_of_training_steps_are_what_their_manifest_says() {
    let Some(shared) = shared() else {
        skipped(Need::Shared, "training steps of the shared data, which is not here").unwrap();
        return;
    };
    let folder = shared.join("unsharded");
    let manifest = std::fs::read(folder.join("manifest.json")).unwrap();
    let manifest: Value = serde_json::from_slice(&manifest).unwrap();
    let (mut faults, mut count) = (String::new(), 0);
    for program in manifest["programs"].as_array().unwrap() {
        let name = program["name"].as_str().unwrap();
        let text = std::fs::read(folder.join(program["file"].as_str().unwrap())).unwrap();
        let found = roles(&Compiler::read(&text).unwrap(), &Said::default()).unwrap();
        if Some(found.loss as u64) != program["loss_result"].as_u64() {
            writeln!(faults, "{name}: the loss is result {}, not {}", program["loss_result"], found.loss)
                .unwrap();
        }
        for (argument, wanted) in found.arguments.iter().zip(program["args"].as_array().unwrap()) {
            count += 1;
            let number = |key: &str| wanted[key].as_u64().map(|n| n as usize);
            let is_right = wanted["class"] == argument.role.as_str()
                && number("next") == argument.next
                && number("of") == argument.of
                && number("batch_dim") == argument.batch_dim;
            if !is_right {
                writeln!(faults, "{name}: {argument:?}, not {wanted}").unwrap();
            }
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
    assert!(count > 1000, "{count} arguments");
}
