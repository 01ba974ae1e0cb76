//! Models have the same losses over twenty steps as the same models in flax, from the same weights and batches, on one device and on eight.
//! The partitioned models send no more bytes than XLA's partition of the flax step.
//!
//! The values are from `data/model_losses.py`, which documents how weights and batches are derived from names.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;

use indexmap::IndexMap;
use serde_json::Value;
use shardc::Compiler;
use shardc::graph::{
    DType::{F32, I32},
    Graph, Mesh, Padding, PartitionSpec, Tensor, spec,
};
use shardc::runtime::{Client, HostArray};
use shardc_passes::driver::strategy::bytes_sent;
use shardc_tests::devices::client;
use shardc_tests::sample::sample;
use shardc_train::Step;
use shardc_train::nn::layers::{Attention, Conv, Dense, Embed, Lstm, Moe, RmsNorm, Rope};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::{Decoder, Vit, megatron};
use shardc_train::nn::optim::{self, Sgd};
use shardc_train::nn::{Kind, Scope, StepProgram, Variable};

const VALUES: &str = include_str!("../data/model_losses.json");

const BATCH: i64 = 8;
const TIME: i64 = 16;
const VOCAB: i64 = 32;
const FEATURES: i64 = 32;
const LAYERS: i64 = 2;
const HEADS: i64 = 4;

/// Numbers between minus one half and one half, from the letters of a name and the index of the element.
fn numbers(name: &str, shape: &[i64]) -> Vec<f64> {
    let seed = name.chars().zip(1..).map(|(c, i)| i * u64::from(c)).sum::<u64>() % 1009;
    let count: i64 = shape.iter().product();
    let wild = (0..count).map(|i| (i as f64 * 12.9898 + seed as f64).sin() * 43758.5453);
    wild.map(|wild| wild - wild.floor() - 0.5).collect()
}

fn array(numbers: &[f64], shape: &[i64], dtype: shardc::graph::DType) -> HostArray {
    let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
    HostArray::from_f64(dtype, &shape, numbers).unwrap()
}

/// The initial value of a variable.
fn initial(variable: &Variable) -> HostArray {
    let (name, shape) = (variable.name.as_str(), variable.shape.as_slice());
    let scale = |number: f64| match variable.kind {
        Kind::Parameter if name.ends_with("scale") => 1.0 + 0.2 * number,
        Kind::Parameter if name.ends_with("bias") || shape.len() < 2 => 0.2 * number,
        Kind::Parameter => number * 2.0 / (shape[shape.len() - 2] as f64).sqrt(),
        _ => 0.0,
    };
    let numbers: Vec<f64> = numbers(name, shape).into_iter().map(scale).collect();
    array(&numbers, shape, variable.dtype)
}

/// The inputs of a step.
fn batch(is_text: bool, step: usize) -> Vec<(&'static str, HostArray)> {
    let below = |name: &str, shape: &[i64], most: i64| {
        let drawn = numbers(&format!("{name}{step}"), shape);
        let whole: Vec<f64> = drawn.iter().map(|n| ((n + 0.5) * most as f64).floor()).collect();
        array(&whole, shape, I32)
    };
    if is_text {
        return vec![("tokens", below("tokens", &[BATCH, TIME + 1], VOCAB))];
    }
    let shape = [BATCH, 16, 16, 1];
    let images = array(&numbers(&format!("images{step}"), &shape), &shape, F32);
    vec![("images", images), ("labels", below("labels", &[BATCH], 10))]
}

type Model = for<'g> fn(&Scope<'g>, Tensor<'g>) -> Tensor<'g>;

const MODELS: [(&str, bool, Model); 6] = [
    ("gpt2", true, |p, x| Decoder::gpt2(VOCAB, TIME, FEATURES, LAYERS, HEADS).apply(p, x, None)),
    ("llama", true, |p, x| Decoder::llama(VOCAB, FEATURES, 64, LAYERS, HEADS, HEADS).apply(p, x, None)),
    ("moe", true, experts),
    ("lstm", true, |p, x| {
        let x = Embed::new(VOCAB, FEATURES).apply(&p.at("wte"), x);
        Dense::new(VOCAB).apply(&p.at("head"), Lstm::new(FEATURES).apply(&p.at("cell"), x))
    }),
    ("cnn", false, |p, x| {
        let x = pooled(Conv::new(8, &[3, 3]).apply(&p.at("conv1"), x).relu());
        let x = pooled(Conv::new(16, &[3, 3]).apply(&p.at("conv2"), x).relu());
        let x = Dense::new(32).apply(&p.at("wide"), x.reshape([BATCH, -1])).relu();
        Dense::new(10).apply(&p.at("out"), x)
    }),
    ("vit", false, |p, x| Vit { epsilon: 1e-5, ..Vit::new(4, FEATURES, LAYERS, HEADS, 10) }.apply(p, x)),
];

fn pooled(x: Tensor<'_>) -> Tensor<'_> {
    x.max_pool(&[2, 2], &[2, 2], &Padding::Valid)
}

fn experts<'g>(p: &Scope<'g>, tokens: Tensor<'g>) -> Tensor<'g> {
    let attention = Attention::new(HEADS).causal().use_bias(false).rope(Rope::default());
    let norm = RmsNorm::new().epsilon(1e-5);
    let x = Embed::new(VOCAB, FEATURES).apply(&p.at("wte"), tokens);
    let x = p.stack("h", LAYERS, x, |p, x| {
        let x = x + attention.apply(&p.at("attn"), norm.apply(&p.at("ln_1"), x));
        let experts = Moe::new(4, 2, 64).expert_axis("data");
        x + experts.apply(&p.at("mlp"), norm.apply(&p.at("ln_2"), x)).0
    });
    let x = norm.apply(&p.at("ln_f"), x);
    Dense::new(VOCAB).use_bias(false).apply(&p.at("lm_head"), x)
}

/// Returns the sharding of a variable: Megatron's for a transformer; over "model" for the wide layer of a CNN and the recurrent state of an
/// LSTM; over "data" and "model" for experts.
fn split(variable: &Variable) -> Option<PartitionSpec> {
    Some(match variable.name.as_str() {
        "wide.kernel" => spec![None, "model"],
        "wide.bias" => spec!["model"],
        "out.kernel" => spec!["model", None],
        "h.mlp.gate" | "h.mlp.up" => spec![None, "data", None, "model"],
        "h.mlp.down" => spec![None, "data", "model", None],
        name if name.starts_with("cell.") && name.ends_with("kernel") => spec![None, "model"],
        name if name.starts_with("cell.") => spec!["model"],
        _ => return megatron(variable, "model"),
    })
}

fn step(model: Model, is_text: bool) -> StepProgram {
    let g = Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap());
    let p = Scope::new(&g);
    let (x, labels) = if is_text {
        let tokens = g.parameter("tokens", [BATCH, TIME + 1], I32).mark_sharding(spec!["data", None]);
        (tokens.slice(1, ..-1), tokens.slice(1, 1..))
    } else {
        let images = g.parameter("images", [BATCH, 16, 16, 1], F32);
        let labels = g.parameter("labels", [BATCH], I32).mark_sharding(spec!["data"]);
        (images.mark_sharding(spec!["data", None, None, None]), labels)
    };
    let loss = CrossEntropy::new().mean(model(&p, x), labels);
    optim::apply(&Sgd::new(0.1).with_momentum(0.9), &p, &p.gradients(loss));
    p.mark_sharding(split);
    let step = p.finish(&[("loss", loss)]).unwrap();
    assert!(step.warnings.is_empty(), "{:?}", step.warnings);
    step
}

/// Losses of twenty steps.
fn losses(step: &Step, is_text: bool, variables: &IndexMap<String, HostArray>) -> Vec<f64> {
    let mut state = step.put(variables).unwrap();
    let mut losses = Vec::new();
    for i in 0..20 {
        let batch = batch(is_text, i);
        let given: Vec<(&str, &HostArray)> = batch.iter().map(|(name, array)| (*name, array)).collect();
        losses.push(step.run(&mut state, &given).unwrap().scalar("loss").unwrap());
    }
    losses
}

/// Compares the losses of model `at`, and describes the differences, if there are any.
fn check(client: &Client, at: usize, value: &Value) -> String {
    let (name, is_text, model) = MODELS[at];
    let mut wrong = String::new();
    let program = step(model, is_text);
    let variables: IndexMap<String, HostArray> =
        program.variables.iter().map(|variable| (variable.name.clone(), initial(variable))).collect();
    let parameters = program.variables.iter().filter(|variable| variable.kind == Kind::Parameter);
    let mut named: Vec<(String, Value)> =
        parameters.map(|variable| (variable.name.clone(), variable.shape.clone().into())).collect();
    named.sort_by(|a, b| a.0.cmp(&b.0));
    let mut expected: Vec<(String, Value)> = value["parameters"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, shape)| (name.clone(), shape.clone()))
        .collect();
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(named, expected, "{name}");
    let expected: Vec<f64> =
        value["losses"].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect();
    let output = Compiler::new().partition_module(program.module.clone()).unwrap();
    let (ours, xla) = (bytes_sent(&output.module), value["xla_sends"].as_u64().unwrap());
    if ours > xla {
        writeln!(wrong, "{name} sends {ours} bytes, XLA's partition {xla}").unwrap();
    }
    // The number of devices alternates between the models; in a thorough run, each model runs on both.
    for (devices, is_split) in sample([("one device", false), ("eight devices", true)].into_iter(), at, 2) {
        let program = program.clone();
        let step = match is_split {
            true => Step::compile(client, &Compiler::new(), program),
            false => Step::single(client, program),
        };
        let step = step.unwrap();
        let have = losses(&step, is_text, &variables);
        let is_equal = have.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-4 * b.abs());
        if !is_equal {
            writeln!(wrong, "{name} on {devices} loses {have:?}, flax's {expected:?}").unwrap();
        }
    }
    wrong
}

#[test]
fn models_match_flax_losses_and_send_no_more() {
    let Some(client) = client().unwrap() else { return };
    let values: Value = serde_json::from_str(VALUES).unwrap();
    assert_eq!(values.as_object().unwrap().len(), MODELS.len());
    let wrong: String = (0..MODELS.len()).map(|at| check(&client, at, &values[MODELS[at].0])).collect();
    assert!(wrong.is_empty(), "\n{wrong}");
}
