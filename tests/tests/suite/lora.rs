//! LoRA as a transform of forward programs of JAX. With zero adapters the outputs are unchanged; with other adapters they equal those of
//! the merged weights. The gradients equal JAX's gradients for the merged weights.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc::exec::Program;
use shardc::lora::{Adapted, Lora, Merge, Targets, adapt, initial, merged};
use shardc::runtime::{Client, HostArray};
use shardc::strategy::{Role, Settings};
use shardc::{Compiler, Module, autodiff, strategy};
use shardc_tests::devices::client;
use shardc_tests::gradients::pairs::Pair;
use shardc_tests::sample::sample;
use shardc_tests::shared;
use shardc_tests::skip::{Need, skipped};

/// Models of the shared data: plain, transposed weights, stacked layers, several output heads, experts.
const MODELS: [(&str, usize); 7] = [
    ("llama_tiny", 14),
    ("llama_tiny_scan_remat", 7),
    ("flax_scan_remat", 2),
    ("hf_gpt2_tiny", 8),
    ("hf_t5_tiny", 16),
    ("lora_llama_tiny", 10),
    ("moe_top2_capacity", 2),
];

fn pairs() -> Option<Vec<Pair>> {
    let Some(dir) = shared().map(|dir| dir.join("gradients")).filter(|dir| dir.is_dir()) else {
        skipped(Need::Shared, "models of the shared data, which is not here").unwrap();
        return None;
    };
    Some(Pair::all(&dir).unwrap())
}

fn run(client: &Client, module: &Module, args: &[HostArray]) -> Vec<HostArray> {
    Program::single(client, module).unwrap().run(client, args).unwrap()
}

/// The weights that have adapters, in order.
fn weights(adapted: &Adapted) -> Vec<usize> {
    let mut weights: Vec<usize> = adapted.adapters.iter().map(|adapter| adapter.map.weight).collect();
    weights.sort_unstable();
    weights.dedup();
    weights
}

/// The arguments of the program that merges adapters.
fn for_merge(adapted: &Adapted, args: &[HostArray]) -> Vec<HostArray> {
    let adapters = adapted.adapters.iter().flat_map(|adapter| [adapter.a, adapter.b]);
    weights(adapted).into_iter().chain(adapters).map(|i| args[i].clone()).collect()
}

fn zeros(like: &HostArray) -> HostArray {
    HostArray::from_f64(like.dtype, &like.shape, &vec![0.0; like.to_f64_vec().len()]).unwrap()
}

fn near(what: &str, have: &[f64], want: &[f64], tolerance: f64) {
    assert_eq!(have.len(), want.len(), "{what}");
    let scale = want.iter().fold(1e-6f64, |m, x| m.max(x.abs()));
    let worst = have.iter().zip(want).fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
    assert!(worst <= tolerance * scale, "{what}: off by {worst:e} of {scale:e}");
}

fn inner(a: &HostArray, b: &HostArray) -> f64 {
    a.to_f64_vec().iter().zip(b.to_f64_vec()).map(|(a, b)| a * b).sum()
}

#[test]
fn adapters_match_merged_weights() {
    let (Some(pairs), Some(client)) = (pairs(), client().unwrap()) else { return };
    for (name, maps) in sample(MODELS.into_iter(), 0, 3) {
        let pair = pairs.iter().find(|pair| pair.name == name).unwrap();
        let base = pair.forward().unwrap();
        let lora = Lora::new(2, 3.0);
        let mut module = base.clone();
        let adapted = adapt(&mut module, &lora, &[]).unwrap();
        shardc_ir::verify(&module).unwrap();
        assert_eq!(adapted.adapters.len(), maps, "{name}");
        let args = pair.inputs(&module).unwrap();
        let num_base = base.funcs[base.entry().unwrap()].params.len();
        let expected = run(&client, &base, &args[..num_base]);

        // Initially, adapters change nothing.
        let key = HostArray::from_slice(&[0u32, 7], &[2]).unwrap();
        let first = run(&client, &initial(&module, &adapted).unwrap(), &[key]);
        let mut begun = args[..num_base].to_vec();
        begun.extend(first.iter().cloned());
        assert!(first.iter().step_by(2).all(|a| a.to_f64_vec().iter().any(|&x| x != 0.0)), "{name}");
        near(name, &run(&client, &module, &begun)[0].to_f64_vec(), &expected[0].to_f64_vec(), 1e-6);

        // Adapters give the same results as the weights that they are merged into.
        let given = for_merge(&adapted, &args);
        let into = run(&client, &merged(&module, &adapted, &lora, Merge::Into).unwrap(), &given);
        let mut with_merged = args[..num_base].to_vec();
        for (&i, weight) in weights(&adapted).iter().zip(&into) {
            with_merged[i] = weight.clone();
        }
        let value = run(&client, &module, &args)[0].to_f64_vec();
        near(name, &value, &run(&client, &base, &with_merged)[0].to_f64_vec(), 1e-4);
        assert!(value != expected[0].to_f64_vec(), "{name}: the adapters do something");

        // Merging can be reversed.
        let mut back = given.clone();
        back[..into.len()].clone_from_slice(&into);
        let out_of = run(&client, &merged(&module, &adapted, &lora, Merge::OutOf).unwrap(), &back);
        for (have, &i) in out_of.iter().zip(&weights(&adapted)) {
            near(name, &have.to_f64_vec(), &args[i].to_f64_vec(), 1e-5);
        }

        // For gradients dA and dB of the adapters and dW of the weights, <A, dA> = <B, dB> = <s A B, dW>.
        let mut gradient = module.clone();
        let wrt: Vec<usize> = adapted.adapters.iter().flat_map(|adapter| [adapter.a, adapter.b]).collect();
        autodiff::grad(&mut gradient, &wrt).unwrap();
        let by_adapters = run(&client, &gradient, &args);
        let mut of_base = base.clone();
        autodiff::grad(&mut of_base, &weights(&adapted)).unwrap();
        let by_weights = run(&client, &of_base, &with_merged);
        let mut change = given.clone();
        for weight in &mut change[..into.len()] {
            *weight = zeros(weight);
        }
        let change = run(&client, &merged(&module, &adapted, &lora, Merge::Into).unwrap(), &change);
        let want: f64 = change.iter().zip(&by_weights).map(|(change, by)| inner(change, by)).sum();
        for factor in 0..2 {
            let factors = wrt.iter().zip(&by_adapters).skip(factor).step_by(2);
            let have: f64 = factors.map(|(&i, by)| inner(&args[i], by)).sum();
            near(name, &[have], &[want], 1e-3);
        }
    }
}

#[test]
fn adapter_steps_are_sharded() {
    let (Some(pairs), Some(client)) = (pairs(), client().unwrap()) else { return };
    let steps = [("llama_tiny_scan_remat", 0.2), ("llama_tiny_scan_remat", 0.0), ("llama_tiny", 0.2)];
    for (name, dropout) in sample(steps.into_iter(), 0, 2) {
        let pair = pairs.iter().find(|pair| pair.name == name).unwrap();
        let mut module = pair.forward().unwrap();
        let adapted = adapt(&mut module, &Lora::new(4, 4.0).dropout(dropout), &[]).unwrap();
        let wrt = autodiff::arguments(&module, &["lora"]).unwrap();
        assert_eq!(wrt.len(), 2 * adapted.adapters.len());
        autodiff::value_and_grad(&mut module, &wrt).unwrap();
        let args = pair.inputs(&module).unwrap();
        let expected = run(&client, &module, &args);
        let roles = strategy::roles(&module, &Default::default()).unwrap();
        assert_eq!(roles.of(Role::Parameter).collect::<Vec<_>>(), wrt, "{name}");
        assert_eq!(roles.of(Role::RngKey).collect::<Vec<_>>(), Vec::from_iter(adapted.key), "{name}");
        for words in sample(["full_shard", "shard_grad_op", "no_shard"].into_iter(), 0, 3) {
            let mut step = module.clone();
            strategy::apply(&mut step, &roles, &Settings::from_words(words).unwrap(), "fsdp=2").unwrap();
            let output = Compiler::new().partition_module(step).unwrap();
            let found = Program::partitioned(&client, &output).unwrap().run(&client, &args).unwrap();
            for (have, want) in found.iter().zip(&expected) {
                near(&format!("{name}, {words}"), &have.to_f64_vec(), &want.to_f64_vec(), 1e-4);
            }
        }
    }
}

#[test]
fn dropout_has_the_requested_rate() {
    let Some(client) = client().unwrap() else { return };
    // If A, B and the input are ones, the sum counts the elements that dropout keeps.
    let text = br#"func.func @main(%w: tensor<4096x1xf32>, %x: tensor<64x4096xf32>) -> tensor<64x1xf32> {
        %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
            : (tensor<64x4096xf32>, tensor<4096x1xf32>) -> tensor<64x1xf32>
        return %y : tensor<64x1xf32>
    }"#;
    let mut module = Compiler::parse(text).unwrap();
    let lora = Lora { targets: Targets::Names(vec!["w".to_owned()]), ..Lora::new(1, 1.0).dropout(0.25) };
    adapt(&mut module, &lora, &["x=batch"]).unwrap();
    let ones = |shape: &[usize]| {
        HostArray::from_f64(shardc::graph::DType::F32, shape, &vec![1.0; shape.iter().product()]).unwrap()
    };
    let kept = |key: [u32; 2]| -> Vec<f64> {
        let key = HostArray::from_slice(&key, &[2]).unwrap();
        let args = [zeros(&ones(&[4096, 1])), ones(&[64, 4096]), ones(&[4096, 1]), ones(&[1, 1]), key];
        run(&client, &module, &args)[0].to_f64_vec().iter().map(|sum| sum * 0.75 / 4096.0).collect()
    };
    let (first, second) = (kept([0, 1]), kept([0, 2]));
    let mean = |all: &[f64]| all.iter().sum::<f64>() / all.len() as f64;
    // The standard deviation of the mean is 0.0068 for one row, and 0.00085 for all rows.
    assert!((mean(&first) - 0.75).abs() < 0.003 && (mean(&second) - 0.75).abs() < 0.003, "{first:?}");
    assert!(first.iter().chain(&second).all(|part| (part - 0.75).abs() < 0.03), "{first:?}");
    assert_ne!(first, second);
    assert_eq!(first, kept([0, 1]));
}

#[test]
fn a_weight_used_transposed_too_is_two_maps() {
    let text = br#"func.func @main(%w: tensor<16x16xf32>, %x: tensor<4x16xf32>) -> tensor<4x16xf32> {
        %h = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
            : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
        %y = stablehlo.dot_general %h, %w, contracting_dims = [1] x [1]
            : (tensor<4x16xf32>, tensor<16x16xf32>) -> tensor<4x16xf32>
        return %y : tensor<4x16xf32>
    }"#;
    let mut module = Compiler::parse(text).unwrap();
    let lora = Lora { targets: "w.*".parse().unwrap(), ..Lora::new(2, 2.0) };
    let adapted = adapt(&mut module, &lora, &[]).unwrap();
    let names: Vec<&str> = adapted.adapters.iter().map(|adapter| adapter.map.name.as_str()).collect();
    assert_eq!(names, ["w", "w.2"]);
    initial(&module, &adapted).unwrap();
    // Merging one adapter into a shared weight would affect both uses.
    let Err(shardc::Error::Diagnostics(refused)) = merged(&module, &adapted, &lora, Merge::Into) else {
        panic!("merged");
    };
    assert_eq!(refused.len(), 2);
    assert!(refused[1].message.contains("the adapters of w.2 cannot be merged"), "{}", refused[1].message);
}

/// Experts that read the same input have separate adapters, as with PEFT's `target_parameters`. The values are from
/// `data/make_peft_experts.py`.
#[test]
fn experts_have_separate_adapters_as_in_peft() {
    let Some(client) = client().unwrap() else { return };
    let file = shardc::statedict::safetensors::from_bytes(
        include_bytes!("../data/peft/experts.safetensors").as_slice(),
    )
    .unwrap();
    let array = |name: String| {
        let tensor = file.find(&name).unwrap();
        HostArray::new(tensor.dtype(), tensor.shape(), tensor.read().unwrap()).unwrap()
    };
    const E: usize = 3;
    const RANK: usize = 2;
    let weight_left = |shape: &str, from: usize| {
        format!(
            "%y = stablehlo.dot_general %w, %x, contracting_dims = [{from}] x [1]
                : (tensor<{shape}xf32>, tensor<6x4xf32>) -> tensor<3x5x6xf32>
            %z = stablehlo.transpose %y, dims = [0, 2, 1] : (tensor<3x5x6xf32>) -> tensor<3x6x5xf32>"
        )
    };
    let weight_right = |shape: &str, from: usize| {
        format!(
            "%y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [{from}]
                : (tensor<6x4xf32>, tensor<{shape}xf32>) -> tensor<6x3x5xf32>
            %z = stablehlo.transpose %y, dims = [1, 0, 2] : (tensor<6x3x5xf32>) -> tensor<3x6x5xf32>"
        )
    };
    // The experts are the last dimension of the dot product.
    let experts_last = |shape: &str, from: usize| {
        let permutation = if from == 1 { "[1, 2, 0]" } else { "[2, 1, 0]" };
        format!(
            "%t = stablehlo.transpose %w, dims = {permutation} : (tensor<{shape}xf32>) -> tensor<4x5x3xf32>
            %y = stablehlo.dot_general %x, %t, contracting_dims = [1] x [0]
                : (tensor<6x4xf32>, tensor<4x5x3xf32>) -> tensor<6x5x3xf32>
            %z = stablehlo.transpose %y, dims = [2, 0, 1] : (tensor<6x5x3xf32>) -> tensor<3x6x5xf32>"
        )
    };
    for (name, shape, from) in [("in_out", "3x4x5", 1), ("out_in", "3x5x4", 2)] {
        let bodies = [weight_left(shape, from), weight_right(shape, from), experts_last(shape, from)];
        for body in bodies {
            let text = format!(
                "func.func @main(%w: tensor<{shape}xf32>, %x: tensor<6x4xf32>) -> tensor<3x6x5xf32> {{
                    {body}
                    return %z : tensor<3x6x5xf32>
                }}"
            );
            let mut module = Compiler::parse(text.as_bytes()).unwrap();
            let lora = Lora { targets: "w".parse().unwrap(), ..Lora::new(RANK as i64, 3.0) };
            let adapted = adapt(&mut module, &lora, &["w=parameter", "x=batch"]).unwrap();
            shardc_ir::verify(&module).unwrap();
            // Each of 3 experts has 2 * 4 + 2 * 5 numbers.
            assert_eq!(adapted.parameters.trained, 54, "{body}");
            let (peft_a, peft_b) =
                (array(format!("{name}.a")).to_f64_vec(), array(format!("{name}.b")).to_f64_vec());
            let mut a = vec![0.0; E * 4 * RANK];
            let mut b = vec![0.0; E * RANK * 5];
            for e in 0..E {
                for k in 0..RANK {
                    (0..4).for_each(|i| a[(e * 4 + i) * RANK + k] = peft_a[(e * RANK + k) * 4 + i]);
                    (0..5).for_each(|o| b[(e * RANK + k) * 5 + o] = peft_b[(o * RANK + k) * E + e]);
                }
            }
            let made = |shape: &[usize], data: &[f64]| {
                HostArray::from_f64(shardc::graph::DType::F32, shape, data).unwrap()
            };
            let args = [
                array(format!("{name}.weight")),
                array(format!("{name}.x")),
                made(&[E, 4, RANK], &a),
                made(&[E, RANK, 5], &b),
            ];
            let have = run(&client, &module, &args)[0].to_f64_vec();
            near(&body, &have, &array(format!("{name}.y")).to_f64_vec(), 1e-5);
            let merging = merged(&module, &adapted, &lora, Merge::Into).unwrap();
            let have = run(&client, &merging, &for_merge(&adapted, &args))[0].to_f64_vec();
            near(&body, &have, &array(format!("{name}.merged")).to_f64_vec(), 1e-5);
            initial(&module, &adapted).unwrap();
        }
    }
}

/// A weight with several output dimensions, such as heads and features, has one adapter, whose `A` all heads share.
#[test]
fn heads_share_one_a() {
    let text = br#"func.func @main(%w: tensor<4x3x5xf32>, %x: tensor<6x4xf32>) -> tensor<6x3x5xf32> {
        %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
            : (tensor<6x4xf32>, tensor<4x3x5xf32>) -> tensor<6x3x5xf32>
        return %y : tensor<6x3x5xf32>
    }"#;
    let mut module = Compiler::parse(text).unwrap();
    let lora = Lora { targets: "w".parse().unwrap(), ..Lora::new(2, 2.0) };
    let adapted = adapt(&mut module, &lora, &["x=batch"]).unwrap();
    assert_eq!(adapted.parameters.trained, 2 * 4 + 2 * 15);
}
