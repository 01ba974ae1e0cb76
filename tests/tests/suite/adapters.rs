//! LoRA and QLoRA: four-bit weights in bitsandbytes' format, and adapters on frozen kernels.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use safetensors::SafeTensors;
use shardc::Compiler;
use shardc::exec::Program;
use shardc::graph::{
    DType::{BF16, F32, I32, UI8},
    Graph, Keep, Mesh,
};
use shardc::runtime::HostArray;
use shardc::strategy::Settings;
use shardc_passes::cost::traffic::summarize;
use shardc_tests::devices::client;
use shardc_tests::sample::sample;
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::Decoder;
use shardc_train::nn::optim::{self, AdamW};
use shardc_train::nn::{Kind, Lora, Nf4, Policy, Quantized, Scope, StepProgram};
use shardc_train::strategy::annotate;
use shardc_train::{State, Step};

const BLOCKS: usize = 260;

/// Computes the same numbers as `data/nf4.py`.
fn weights() -> Vec<f32> {
    let number = |i: usize| {
        let word = (i as u64 * 2_654_435_761) as u32;
        let uniform = (word >> 8) as f32 / (1 << 24) as f32 - 0.5;
        uniform * ((i / 64 * 37 % 101 + 1) as f32 / 64.0)
    };
    (0..64 * BLOCKS).map(number).collect()
}

/// Quantizes and dequantizes the numbers. Returns the payload, the scales, the nested scales, and the dequantized numbers.
fn round_trip(nf4: Nf4) -> Vec<HostArray> {
    let client = client().unwrap().expect("the plugin");
    let g = Graph::new("round_trip", &Mesh::new(&[("data", 1)]).unwrap());
    let x = g.parameter("x", [64 * BLOCKS as i64], F32);
    let of = nf4.quantize(x);
    let again = nf4.dequantize(&of, &[64 * BLOCKS as i64], F32);
    let mut results =
        vec![("payload", of.payload.bitcast(UI8)), ("magnitudes", of.magnitudes), ("again", again)];
    if let Some((scales, offset)) = of.nested {
        results.extend([("scales", scales), ("offset", offset)]);
    }
    let module = g.finish(&results).unwrap();
    let input = HostArray::from_slice(&weights(), &[64 * BLOCKS]).unwrap();
    Program::single(&client, &module).unwrap().run(&client, &[input]).unwrap()
}

#[test]
fn four_bit_values_match_bitsandbytes() {
    if client().unwrap().is_none() {
        return;
    }
    let file = include_bytes!("../data/nf4.safetensors");
    let file = SafeTensors::deserialize(file).unwrap();
    let floats = |name: &str| -> Vec<f32> {
        let data = file.tensor(name).unwrap().data().to_vec();
        data.chunks(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
    };
    let bytes = |name: &str| file.tensor(name).unwrap().data().to_vec();
    let every =
        |array: &HostArray| -> Vec<f32> { array.to_vec::<f32>().unwrap().into_iter().step_by(16).collect() };
    let plain = round_trip(Nf4 { double: false, ..Nf4::default() });
    assert_eq!(plain[0].to_vec::<u8>().unwrap(), bytes("packed"));
    assert_eq!(plain[1].to_vec::<f32>().unwrap(), floats("absmax"));
    assert_eq!(every(&plain[2]), floats("values"));
    for storage in [UI8, BF16, F32] {
        let double = round_trip(Nf4 { double: true, storage });
        assert_eq!(double[0].to_vec::<u8>().unwrap(), bytes("packed"), "packed in {storage}");
        // bitsandbytes' CPU kernel rounds one in 260 values to the second nearest code.
        let (have, want) = (double[1].to_vec::<u8>().unwrap(), bytes("double.absmax"));
        let is_other = |block: usize| have[block] != want[block];
        assert!((0..BLOCKS).all(|block| have[block].abs_diff(want[block]) <= 1));
        assert!((0..BLOCKS).filter(|&block| is_other(block)).count() <= 1);
        // Scales may differ slightly, because means are summed in a different order.
        let near = |have: &[f32], want: &[f32]| {
            assert_eq!(have.len(), want.len());
            assert!(
                have.iter().zip(want).all(|(a, b)| (a - b).abs() <= 1e-5 * b.abs().max(1e-2)),
                "{have:?}"
            );
        };
        near(&double[3].to_vec::<f32>().unwrap(), &floats("double.scales"));
        near(&double[4].to_vec::<f32>().unwrap(), &floats("double.offset"));
        let of_equal = |numbers: Vec<f32>| -> Vec<f32> {
            let numbers = numbers.into_iter().enumerate();
            numbers.filter(|(i, _)| !is_other(i * 16 / 64)).map(|(_, number)| number).collect()
        };
        near(&of_equal(every(&double[2])), &of_equal(floats("double.values")));
    }
}

/// On a TPU, a tensor whose last dimension is two or four takes up to 64 times its memory, because the dimension is padded to 128.
#[test]
fn numbers_are_unpacked_along_long_rows() {
    for storage in [UI8, BF16, F32] {
        let g = Graph::new("unpack", &Mesh::new(&[("data", 1)]).unwrap());
        let words = 32 / i64::from(storage.bits() / 8);
        let payload = g.parameter("payload", [128, words], storage);
        let magnitudes = g.parameter("magnitudes", [128], F32);
        let of = Quantized { payload, magnitudes, nested: None };
        let numbers = Nf4 { double: false, storage }.dequantize(&of, &[64, 128], BF16);
        let module = g.finish(&[("numbers", numbers)]).unwrap();
        let body = module.funcs[module.entry().unwrap()].body.unwrap();
        for op in module.walk(body) {
            for &value in &module.ops[op].results {
                let shape = module.shape(value);
                let is_of_blocks = shape.iter().product::<i64>() <= 128;
                let is_long = shape.len() < 2 || shape.last().is_some_and(|&n| n >= words);
                assert!(
                    is_of_blocks || is_long,
                    "packed in {storage}: {shape:?} of {}",
                    module.ops[op].kind.name()
                );
            }
        }
    }
}

/// A step that trains adapters of a small Llama.
fn step(mesh: &Mesh, lora: &Lora, nf4: Option<Nf4>) -> StepProgram {
    let g = Graph::new("train", mesh);
    let p = Scope::new(&g).with_policy(Policy::default()).checkpointed(Keep::Nothing);
    let p = p.with_lora(lora, Some(g.key(3)));
    let p = nf4.map_or(p.clone(), |nf4| p.quantized(nf4));
    let tokens = g.parameter("tokens", [16, 17], I32);
    let logits = Decoder::llama(128, 64, 128, 2, 4, 2).apply(&p, tokens.slice(1, ..-1), None);
    let loss = CrossEntropy::new().mean(logits, tokens.slice(1, 1..));
    optim::apply(&AdamW::new(1e-2), &p, &p.gradients(loss));
    p.finish(&[("loss", loss)]).unwrap()
}

fn losses(step: StepProgram, settings: Option<&Settings>) -> Vec<f64> {
    let client = client().unwrap().expect("the plugin");
    let mut step = step;
    let step = match settings {
        Some(settings) => {
            annotate(&mut step, settings).unwrap();
            Step::compile(&client, &Compiler::new(), step).unwrap()
        }
        None => Step::single(&client, step).unwrap(),
    };
    let mut state = step.init(1).unwrap();
    let tokens: Vec<i32> = (0..16 * 17).map(|i| (i * i + i / 17) % 11).collect();
    let tokens = HostArray::from_slice(&tokens, &[16, 17]).unwrap();
    (0..12).map(|_| step.run(&mut state, &[("tokens", &tokens)]).unwrap().scalar("loss").unwrap()).collect()
}

#[test]
fn sharded_adapter_training_matches_one_device() {
    if client().unwrap().is_none() {
        return;
    }
    let mesh = Mesh::new(&[("fsdp", 8)]).unwrap();
    let settings = Settings::from_words("full_shard").unwrap();
    let lora = Lora::new(4, 8.0).dropout(0.1);
    let weights = [None, Some(Nf4::default()), Some(Nf4 { storage: BF16, ..Nf4::default() })];
    for nf4 in sample(weights.into_iter(), 2, 3) {
        let one = losses(step(&mesh, &lora, nf4), None);
        let many = losses(step(&mesh, &lora, nf4), Some(&settings));
        for (i, (a, b)) in many.iter().zip(&one).enumerate() {
            assert!((a - b).abs() <= 1e-4 * b, "step {i}: {a} on eight devices, {b} on one");
        }
        assert!(one[11] < 0.95 * one[0], "{one:?}");
    }
}

#[test]
fn only_adapters_are_trained() {
    let mesh = Mesh::new(&[("fsdp", 8)]).unwrap();
    let step = step(&mesh, &Lora::new(4, 8.0), Some(Nf4::default()));
    let trained: Vec<&str> =
        step.variables.iter().filter(|v| v.kind == Kind::Parameter).map(|v| v.name.as_str()).collect();
    assert_eq!(trained.len(), 14, "{trained:?}");
    assert!(trained.iter().all(|name| name.ends_with(".lora_a") || name.ends_with(".lora_b")));
    // Two numbers of Adam state for each adapter, and none for other parameters.
    assert_eq!(step.variables.iter().filter(|v| v.kind == Kind::Optimizer).count(), 28);
    // 2 layers of 64 x (64 + 32 + 32 + 64) and 3 x 64 x 128, norms, and two vocabulary matrices.
    let weights = 2 * (64 * 192 + 3 * 64 * 128 + 2 * 64) + 64 + 2 * 128 * 64;
    let adapters = 2 * 4 * ((64 + 64) + 2 * (64 + 32) + (64 + 64) + 3 * (64 + 128));
    let share = 100.0 * adapters as f64 / (weights + adapters) as f64;
    assert_eq!(
        step.parameters().to_string(),
        format!("trainable params: 8,192 || all params: 98,624 || trainable%: {share:.4}")
    );
    assert_eq!(adapters, 8192);
}

#[test]
fn an_unknown_target_is_reported() {
    let g = Graph::new("train", &Mesh::new(&[("fsdp", 8)]).unwrap());
    let lora = Lora::default().targets("attn.query,q_proj".parse().unwrap());
    let p = Scope::new(&g).with_lora(&lora, None);
    let tokens = g.parameter("tokens", [16, 17], I32);
    let logits = Decoder::llama(128, 64, 128, 2, 4, 2).apply(&p, tokens, None);
    let error = p.finish(&[("logits", logits)]).unwrap_err().to_string();
    assert!(error.contains("q_proj") && error.contains("h.attn.query"), "{error}");
}

#[test]
fn all_gathers_send_four_bit_values() {
    let mesh = Mesh::new(&[("fsdp", 8)]).unwrap();
    let gathered = |nf4: Option<Nf4>| -> u64 {
        let mut step = step(&mesh, &Lora::new(4, 8.0), nf4);
        annotate(&mut step, &Settings::from_words("full_shard").unwrap()).unwrap();
        let output = Compiler::new().partition_module(step.module).unwrap();
        summarize(&output.module)
            .iter()
            .filter(|row| row.kind == "all_gather")
            .map(|row| row.bytes_in_run)
            .sum()
    };
    // Kernels of 73,728 numbers in 1152 blocks, all-gathered for the forward and for the backward pass: in f32, or in four bits each with
    // eight bits per block and 32 bits per 256 blocks.
    let (whole, quarter) = (4 * 73_728, 73_728 / 2 + 1152 + 14 * 4);
    let saved = gathered(None) - gathered(Some(Nf4::default()));
    let expected = 2 * (whole - quarter) * 7 / 8;
    assert!(saved.abs_diff(expected) * 100 <= expected, "{saved}, not {expected}");
}

/// A small Llama with or without adapters that returns its loss, and trains if `trains`.
fn model(mesh: &Mesh, lora: Option<&Lora>, trains: bool, nf4: Option<Nf4>) -> StepProgram {
    let g = Graph::new("step", mesh);
    let p = Scope::new(&g);
    let p = lora.map_or(p.clone(), |lora| p.with_lora(lora, None));
    let p = nf4.map_or(p.clone(), |nf4| p.quantized(nf4));
    let tokens = g.parameter("tokens", [8, 9], I32);
    let logits = Decoder::llama(32, 16, 24, 2, 4, 2).apply(&p, tokens.slice(1, ..-1), None);
    let loss = CrossEntropy::new().mean(logits, tokens.slice(1, 1..));
    if trains {
        optim::apply(&AdamW::new(1e-1), &p, &p.gradients(loss));
    }
    p.finish(&[("loss", loss), ("logits", logits)]).unwrap()
}

#[test]
fn merged_adapters_change_the_kernels() {
    let Some(client) = client().unwrap() else { return };
    let mesh = Mesh::new(&[("fsdp", 8)]).unwrap();
    let settings = Settings::from_words("full_shard").unwrap();
    let lora = Lora::new(3, 6.0);
    let tokens: Vec<i32> = (0..72).map(|i| (i * i + i / 9) % 11).collect();
    let tokens = HostArray::from_slice(&tokens, &[8, 9]).unwrap();
    for split in [false, true] {
        let compiled = |mut program: StepProgram| match split {
            true => {
                annotate(&mut program, &settings).unwrap();
                Step::compile(&client, &Compiler::new(), program).unwrap()
            }
            false => Step::single(&client, program).unwrap(),
        };
        let train = compiled(model(&mesh, Some(&lora), true, None));
        let beside = compiled(model(&mesh, Some(&lora), false, None));
        let plain = compiled(model(&mesh, None, false, None));
        let logits = |step: &Step, state: &State| -> Vec<f64> {
            let mut state = step.adopt(state).unwrap();
            step.run(&mut state, &[("tokens", &tokens)]).unwrap().get("logits").unwrap().to_f64_vec()
        };
        let worst = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        let mut state = train.init(1).unwrap();
        let begin = logits(&plain, &state);
        for _ in 0..5 {
            train.run(&mut state, &[("tokens", &tokens)]).unwrap();
        }
        let want = logits(&beside, &state);
        let merged = train.merge_adapters(&state, &lora).unwrap();
        let off = worst(&want, &logits(&plain, &merged));
        assert!(off < 1e-5 && worst(&want, &begin) > 1e-2, "off by {off:e}");
        // A merged state has no adapters, so that a step cannot apply them a second time.
        let error = train.run(&mut merged.clone(), &[("tokens", &tokens)]).unwrap_err().to_string();
        assert!(error.contains("lacks the variable \"h.attn.query.lora_a\""), "{error}");
        let mut again = train.unmerge_adapters(&merged, &state, &lora).unwrap();
        for (name, _) in state.iter() {
            let off = worst(&state.get(name).unwrap().to_f64_vec(), &again.get(name).unwrap().to_f64_vec());
            assert!(off <= if name.ends_with("kernel") { 1e-6 } else { 0.0 }, "{name} is off by {off:e}");
        }
        train.run(&mut again, &[("tokens", &tokens)]).unwrap();
    }
}

#[test]
fn adapters_that_cannot_be_merged_are_reported() {
    let Some(client) = client().unwrap() else { return };
    let mesh = Mesh::new(&[("fsdp", 1)]).unwrap();
    let lora = Lora::new(3, 6.0);
    let error = |program: StepProgram, lora: &Lora| {
        let step = Step::single(&client, program).unwrap();
        step.merge_adapters(&step.init(0).unwrap(), lora).unwrap_err().to_string()
    };
    let in_bits = error(model(&mesh, Some(&lora), false, Some(Nf4::default())), &lora);
    assert!(in_bits.starts_with("error[SH1252]") && in_bits.contains("four bits"), "{in_bits}");
    let other = error(model(&mesh, Some(&lora), false, None), &Lora::new(4, 6.0));
    assert!(other.contains("\"h.attn.query.lora_a\" has rank 3, expected 4"), "{other}");
    let none = error(model(&mesh, None, false, None), &lora);
    assert!(none.contains("the step has no adapters"), "{none}");
}
