//! Argument roles of real training steps: each class of the shared data's manifests is inferred.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write as _;

use serde_json::Value;
use shardc::Compiler;
use shardc_strategy::{RoleOverrides, roles};
use shardc_tests::shared;
use shardc_tests::skip::{Need, skipped};

/// Annotated steps of the corpus, whose arguments have no names. Each has its loss, and the roles of the arguments in order, as in the
/// front end. Two steps return gradients instead of the next state. The steps of PyTorch/XLA donate nothing.
const CORPUS: &[(&str, &str)] = &[
    ("jax/hf_bart_tiny_tp_train", "res277 parameter*92 step*1 optimizer_state*184 batch*4 rng_key*1"),
    ("jax/keras_mobilenetv2_dp_train", "res420 parameter*158 model_state*104 optimizer_state*158 batch*2"),
    ("jax/keras_lstm_dp_train", "res27 parameter*12 rng_key*3 optimizer_state*12 batch*2"),
    ("jax/linen_mnist_cnn_dp_train", "res16 parameter*8 optimizer_state*8 batch*2"),
    (
        "jax/linen_transformer_tp_dropout_train",
        "res103 parameter*34 step*1 optimizer_state*68 batch*1 rng_key*1",
    ),
    ("jax/nnx_cnn_dp_train", "res25 parameter*8 step*1 optimizer_state*16 step*1 rng_key*1 batch*2"),
    ("jax/moe_switch_top1_train_gspmd", "res3 parameter*3 batch*2"),
    ("jax/llama_tiny_scan_remat_train", "res37 parameter*12 step*1 optimizer_state*24 batch*2"),
    ("jax/mlp_dp_tp_train_gspmd", "res12 parameter*6 optimizer_state*6 batch*2"),
    ("jax/hf_resnet_tiny_dp_train", "res183 parameter*50 model_state*32 step*1 optimizer_state*100 batch*2"),
    ("jax/keras_dlrm_mp_train", "res20 parameter*10 optimizer_state*10 batch*6"),
    ("jax/vocab_xent_gather_train", "res0 parameter*2 batch*1"),
    ("jax/shardmap_megatron_sp_mlp_train", "res0 parameter*2 batch*1"),
    (
        "torch_xla/b_mlp_ddp_adam",
        "res2 batch*2 parameter*6 scalar*1 optimizer_state*1 scalar*2 optimizer_state*1 scalar*3 optimizer_state*10",
    ),
    (
        "torch_xla/b_mlp_fsdpv2_sgd",
        "res2 batch*2 parameter*6 scalar*1 optimizer_state*1 scalar*1 optimizer_state*5",
    ),
    (
        "torch_xla/e_gpt2_train_fsdpv2",
        "res3 batch*3 parameter*4 scalar*2 parameter*16 scalar*1 step*2 scalar*1 parameter*1 scalar*1 parameter*8 scalar*1 step*2 scalar*1 optimizer_state*1 scalar*2 optimizer_state*1 scalar*4 optimizer_state*56",
    ),
];

#[test]
fn argument_roles_of_annotated_steps_match_front_ends() {
    let Some(shared) = shared() else {
        skipped(Need::Shared, "training steps of the shared data, which is not here").unwrap();
        return;
    };
    let mut faults = String::new();
    for (name, wanted) in CORPUS {
        let text = std::fs::read(shared.join("corpus").join(name).with_extension("mlir")).unwrap();
        let found = roles(&Compiler::read(&text).unwrap(), &RoleOverrides::default()).unwrap();
        let mut runs: Vec<(&str, usize)> = Vec::new();
        for argument in &found.arguments {
            match runs.last_mut() {
                Some((role, count)) if *role == argument.role.as_str() => *count += 1,
                _ => runs.push((argument.role.as_str(), 1)),
            }
        }
        let runs: Vec<String> = runs.iter().map(|(role, count)| format!("{role}*{count}")).collect();
        let text = format!("res{} {}", found.loss.unwrap(), runs.join(" "));
        if text != *wanted {
            writeln!(faults, "{name}: {text}\n  not {wanted}").unwrap();
        }
    }
    assert!(faults.is_empty(), "\n{faults}");
}

#[test]
fn argument_roles_of_training_steps_match_manifests() {
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
        let found = roles(&Compiler::read(&text).unwrap(), &RoleOverrides::default()).unwrap();
        if found.loss.map(|loss| loss as u64) != program["loss_result"].as_u64() {
            writeln!(
                faults,
                "{name}: the loss is result {}, not {}",
                program["loss_result"],
                found.loss.unwrap()
            )
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
