//! Attention with a fused QKV matmul costs the same under tensor parallelism, however queries, keys and values are sliced from it.

use shardc::graph::{DType::F32, Graph, Mesh, Tensor};
use shardc::strategy::Settings;
use shardc::{Compiler, Output};
use shardc_train::nn::{Init, Kind, Scope, optim};
use shardc_train::strategy::annotate;

use super::closed_form::sent;

const BATCH: i64 = 16;
const TOKENS: i64 = 512;
const HEADS: i64 = 8;
const FEATURES: i64 = 256;

/// A way to slice queries, keys and values, each one vector per token, from the result of their fused matmul.
type Take = for<'g> fn(Tensor<'g>) -> [Tensor<'g>; 3];

const WAYS: &[(&str, Take)] = &[
    ("ranges of the columns", |qkv| [0, 1, 2].map(|i| qkv.slice(-1, i * FEATURES..(i + 1) * FEATURES))),
    ("columns reshaped apart", |qkv| {
        let apart = qkv.reshape([BATCH, TOKENS, 3, HEADS, FEATURES / HEADS]);
        [0, 1, 2].map(|i| apart.at(2, i).reshape([BATCH, TOKENS, FEATURES]))
    }),
    ("columns reshaped apart, and transposed", |qkv| {
        let apart = qkv.reshape([BATCH, TOKENS, 3, HEADS, FEATURES / HEADS]).transpose(&[2, 0, 3, 1, 4]);
        [0, 1, 2].map(|i| apart.at(0, i).transpose(&[0, 2, 1, 3]).reshape([BATCH, TOKENS, FEATURES]))
    }),
];

/// The traffic and memory of a device in a step are the same for all ways to slice, and little is sent in addition to the all-reduces of
/// Megatron's layers.
pub(super) fn all_ways_cost_the_same() -> Result<(), String> {
    let costs: Vec<(f64, f64)> = WAYS
        .iter()
        .map(|&(_, take)| {
            let output = partitioned(take).map_err(|error| error.to_string())?;
            Ok::<_, String>((sent(&output), output.memory().peak as f64))
        })
        .collect::<Result<_, _>>()?;
    let sums = (4 * BATCH / 2 * TOKENS * FEATURES * 4) as f64 * 2.0 * 3.0 / 4.0;
    for ((way, _), &(sent, peak)) in WAYS.iter().zip(&costs) {
        let (least_sent, least_peak) = costs[0];
        if sent > 1.01 * least_sent || peak > 1.01 * least_peak || sent > 1.1 * sums {
            return Err(format!(
                "{way}: {sent} bytes sent, {peak} needed; {least_sent} and {least_peak} for {}",
                WAYS[0].0
            ));
        }
    }
    Ok(())
}

/// In a standalone attention layer, the head dimension is sharded, although the feature dimension occurs in as many weights.
pub(super) fn heads_are_sharded() -> Result<(), String> {
    let local = attention_alone().map_err(|error| error.to_string())?;
    let (by_head, back) = (vec![FEATURES, HEADS / 4, FEATURES / HEADS], vec![FEATURES / 4, FEATURES]);
    let want = [by_head.clone(), by_head.clone(), by_head, back];
    if local == want { Ok(()) } else { Err(format!("weights in parts of {local:?}, not {want:?}")) }
}

/// The local shapes of the weights of an attention layer on a device of data=2,model=4.
fn attention_alone() -> Result<Vec<Vec<i64>>, Box<dyn std::error::Error>> {
    let g = Graph::new("step", &Mesh::new(&[("data", 2), ("model", 4)])?);
    let p = Scope::new(&g);
    let x = g.parameter("x", [BATCH, TOKENS, FEATURES], F32);
    let mut by_head = Vec::new();
    for name in ["q", "k", "v"] {
        let weight = p.parameter(name, [FEATURES, HEADS, FEATURES / HEADS], Init::normal(0.02));
        by_head.push(g.einsum("btf,fhd->bthd", &[x, weight]));
    }
    let scores = (g.einsum("bqhd,bkhd->bhqk", &[by_head[0], by_head[1]]) / 8.0).softmax(-1);
    let attended = g.einsum("bhqk,bkhd->bqhd", &[scores, by_head[2]]).reshape([BATCH, TOKENS, FEATURES]);
    let y = attended.dot(p.parameter("o", [FEATURES, FEATURES], Init::normal(0.02)));
    let loss = (y - x).square().mean(..);
    optim::apply(&optim::Sgd::new(0.1), &p, &p.gradients(loss));
    let mut step = p.finish(&[("loss", loss)])?;
    annotate(&mut step, &Settings::from_words("no_shard").map_err(shardc::Error::from)?)?;
    let output = Compiler::new().partition_module(step.module)?;
    let manifest = output.manifest();
    let parameters = step.variables.iter().zip(&step.arguments).filter(|(v, _)| v.kind == Kind::Parameter);
    Ok(parameters.map(|(_, &argument)| manifest.inputs[argument].local_shape.clone()).collect())
}

fn norm(x: Tensor<'_>) -> Tensor<'_> {
    x * (x.square().mean_keepdims(-1) + 1e-5).rsqrt()
}

fn heads(tokens: Tensor<'_>) -> Tensor<'_> {
    tokens.reshape([BATCH, TOKENS, HEADS, FEATURES / HEADS])
}

/// A training step of an attention and a feed-forward layer on data=2,model=4.
fn partitioned(
    take: for<'g> fn(Tensor<'g>) -> [Tensor<'g>; 3],
) -> Result<Output, Box<dyn std::error::Error>> {
    let g = Graph::new("step", &Mesh::new(&[("data", 2), ("model", 4)])?);
    let p = Scope::new(&g);
    let weight = |name: &str, rows: i64, columns: i64| p.parameter(name, [rows, columns], Init::normal(0.02));
    let x = g.parameter("x", [BATCH, TOKENS, FEATURES], F32);
    let qkv =
        norm(x).dot(weight("qkv", FEATURES, 3 * FEATURES)) + p.parameter("b", [3 * FEATURES], Init::zeros());
    let [q, k, v] = take(qkv).map(heads);
    let scores = (g.einsum("bqhd,bkhd->bhqk", &[q, k]) / 8.0).softmax(-1);
    let attended = g.einsum("bhqk,bkhd->bqhd", &[scores, v]).reshape([BATCH, TOKENS, FEATURES]);
    let x = x + attended.dot(weight("o", FEATURES, FEATURES));
    let inner = norm(x).dot(weight("up", FEATURES, 4 * FEATURES)).tanh();
    let x = x + inner.dot(weight("down", 4 * FEATURES, FEATURES));
    let loss = x.square().mean(..);
    optim::apply(&optim::Sgd::new(0.1), &p, &p.gradients(loss));
    let mut step = p.finish(&[("loss", loss)])?;
    annotate(&mut step, &Settings::from_words("no_shard").map_err(shardc::Error::from)?)?;
    Ok(Compiler::new().partition_module(step.module)?)
}
