//! Layers and losses have the values and gradients of flax linen and optax with the same parameters.
//!
//! The values are from `data/layer_values.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;

use serde_json::Value;
use shardc::exec::Program;
use shardc::graph::{
    DType::{F32, I32},
    Graph, Mesh, Padding, Tensor,
};
use shardc::runtime::HostArray;
use shardc_tests::devices::client;
use shardc_train::nn::Scope;
use shardc_train::nn::layers::{
    Attention, BatchNorm, Conv, Dense, DenseGeneral, Embed, GroupNorm, Gru, LayerNorm, Lstm, Mlp, Moe,
    Places, RmsNorm, Rope, RopeStyle, Seen, dot_product_attention,
};
use shardc_train::nn::loss::{CrossEntropy, huber, sigmoid_cross_entropy};

const VALUES: &str = include_str!("../data/layer_values.json");

type Make = for<'g> fn(&Scope<'g>, &[Tensor<'g>]) -> Tensor<'g>;

fn attend<'g>(x: &[Tensor<'g>], seen: Seen) -> Tensor<'g> {
    let places = Places { segments: x.get(2).copied(), ..Places::default() };
    dot_product_attention(x[0], x[1], x[1], &seen, &places, F32)
}

fn turned(x: Tensor<'_>, rope: Rope) -> Tensor<'_> {
    rope.apply(x, x.graph().arange(x.size(1), I32))
}

const CAUSAL: Seen = Seen { causal: true, window: None, alibi: false, softcap: None };

const CASES: &[(&str, Make)] = &[
    ("dense", |p, x| Dense::new(3).apply(p, x[0])),
    ("dense_general", |p, x| DenseGeneral::new(&[2, 3]).axes(2).apply(p, x[0])),
    ("embed", |p, x| Embed::new(7, 4).apply(p, x[0])),
    ("layer_norm", |p, x| LayerNorm::new().apply(p, x[0])),
    ("rms_norm", |p, x| RmsNorm::new().apply(p, x[0])),
    ("group_norm", |p, x| GroupNorm::new(4).apply(p, x[0])),
    ("swiglu", |p, x| Mlp::swiglu(12).apply(p, x[0])),
    ("conv", |p, x| Conv::new(5, &[3, 2]).strides(&[2, 1]).apply(p, x[0])),
    ("conv_grouped", |p, x| Conv::new(4, &[3]).feature_group_count(2).padding(Padding::Valid).apply(p, x[0])),
    ("batch_norm", |p, x| BatchNorm::new().apply(p, x[0], true)),
    ("lstm", |p, x| Lstm::new(3).apply(&p.at("cell"), x[0])),
    ("lstm_reverse", |p, x| Lstm::new(3).reverse().apply(&p.at("cell"), x[0])),
    ("gru", |p, x| Gru::new(3).apply(&p.at("cell"), x[0])),
    ("moe", |p, x| Moe::new(3, 2, 6).capacity_factor(3.0).apply(p, x[0]).0),
    ("moe_dropless", |p, x| Moe::new(3, 2, 6).dropless().apply(p, x[0]).0),
    ("attention", |p, x| Attention::new(2).apply(p, x[0])),
    ("causal_attention", |_, x| attend(x, CAUSAL)),
    ("window_attention", |_, x| attend(x, Seen { window: Some(2), ..CAUSAL })),
    ("softcap_attention", |_, x| attend(x, Seen { softcap: Some(0.5), ..CAUSAL })),
    ("alibi_attention", |_, x| attend(x, Seen { alibi: true, ..CAUSAL })),
    ("packed_attention", |_, x| attend(x, CAUSAL)),
    ("rope", |_, x| turned(x[0], Rope::default())),
    ("rope_interleaved", |_, x| turned(x[0], Rope { style: RopeStyle::Interleaved, ..Rope::default() })),
    ("rope_partial", |_, x| turned(x[0], Rope { dims: Some(4), ..Rope::default() })),
    ("cross_entropy", |_, x| CrossEntropy::new().of_each(x[0], x[1])),
    ("cross_entropy_smoothed", |_, x| CrossEntropy::new().label_smoothing(0.1).of_each(x[0], x[1])),
    ("cross_entropy_z", |_, x| CrossEntropy::new().z_loss(0.1).of_each(x[0], x[1])),
    ("cross_entropy_ignore", |_, x| CrossEntropy::new().ignore(2).of_each(x[0], x[1])),
    ("sigmoid_cross_entropy", |_, x| sigmoid_cross_entropy(x[0], x[0].full_like(0.3))),
    ("huber", |_, x| huber(x[0], x[0].zeros_like(), 1.0)),
];

fn array(value: &Value) -> HostArray {
    let list = |name: &str| value[name].as_array().unwrap().clone();
    let shape: Vec<usize> = list("shape").iter().map(|n| n.as_u64().unwrap() as usize).collect();
    let data: Vec<f64> = list("data").iter().map(|n| n.as_f64().unwrap()).collect();
    HostArray::from_f64(if value["dtype"] == "f32" { F32 } else { I32 }, &shape, &data).unwrap()
}

/// Describes the difference between two arrays; `None` if they are close.
fn compare(what: &str, want: &HostArray, have: &HostArray) -> Option<String> {
    if (want.dtype, &want.shape) != (have.dtype, &have.shape) {
        return Some(format!("{what} is {}, not {}", have.ty(), want.ty()));
    }
    let (want, have) = (want.to_f64_vec(), have.to_f64_vec());
    let scale = want.iter().fold(1.0f64, |most, n| most.max(n.abs()));
    let is_close = want.iter().zip(&have).all(|(a, b)| (a - b).abs() <= 8e-6 * scale);
    (!is_close).then(|| format!("{what} is {have:?}, not {want:?}"))
}

#[test]
fn layers_and_gradients_match_flax() {
    let Some(client) = client().unwrap() else { return };
    let values: Value = serde_json::from_str(VALUES).unwrap();
    let mut wrong = String::new();
    for (name, make) in CASES {
        let value = &values[name];
        let inputs: Vec<HostArray> = value["inputs"].as_array().unwrap().iter().map(array).collect();
        let g = Graph::new(name, &Mesh::new(&[("data", 1)]).unwrap());
        let p = Scope::new(&g);
        let tensors: Vec<Tensor<'_>> = inputs
            .iter()
            .enumerate()
            .map(|(i, input)| g.parameter(&format!("x{i}"), input.shape.as_slice(), input.dtype))
            .collect();
        let result = make(&p, &tensors);
        let params = p.trainable();
        let weights = g.arange(result.num_elements(), F32).cos().reshape(result.shape());
        let of_inputs = tensors.iter().copied().filter(|t| t.dtype() == F32);
        let by: Vec<Tensor<'_>> = params.iter().map(|param| param.tensor).chain(of_inputs).collect();
        let gradients = g.grad((result * weights).sum(..), &by);
        let mut want = vec![("result".to_owned(), array(&value["result"]))];
        let known = value["params"].as_object().unwrap();
        if params.len() != known.len() || params.iter().any(|param| !known.contains_key(&param.name)) {
            let names: Vec<&str> = params.iter().map(|param| param.name.as_str()).collect();
            writeln!(wrong, "{name}: the parameters are {names:?}").unwrap();
            continue;
        }
        for param in &params {
            want.push((format!("gradient of {}", param.name), array(&value["param_gradients"][&param.name])));
        }
        for (i, gradient) in value["input_gradients"].as_array().unwrap().iter().enumerate() {
            want.push((format!("gradient of input {i}"), array(gradient)));
        }
        let returned: Vec<(&str, Tensor<'_>)> = want
            .iter()
            .map(|(what, _)| what.as_str())
            .zip(std::iter::once(result).chain(gradients))
            .collect();
        let step = match p.finish(&returned) {
            Ok(step) => step,
            Err(errors) => {
                writeln!(wrong, "{name}: {errors}").unwrap();
                continue;
            }
        };
        let mut arguments: Vec<Option<HostArray>> = vec![None; step.arguments.len() + step.inputs.len()];
        for (variable, &i) in step.variables.iter().zip(&step.arguments) {
            let shape: Vec<usize> = variable.shape.iter().map(|&n| n as usize).collect();
            let value = known.get(&variable.name).map(array);
            // Statistics that training does not read are missing in the data.
            arguments[i] = Some(value.unwrap_or_else(|| HostArray::zeros(F32, &shape).unwrap()));
        }
        for (port, input) in step.inputs.iter().zip(inputs) {
            arguments[port.index] = Some(input);
        }
        let arguments: Vec<HostArray> = arguments.into_iter().flatten().collect();
        match Program::single(&client, &step.module).and_then(|program| program.run(&client, &arguments)) {
            Err(error) => writeln!(wrong, "{name}: {error}").unwrap(),
            Ok(have) => {
                for ((what, want), port) in want.iter().zip(&step.metrics) {
                    if let Some(text) = compare(what, want, &have[port.index]) {
                        writeln!(wrong, "{name}: {text}").unwrap();
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert_eq!(values.as_object().unwrap().len(), CASES.len());
}
