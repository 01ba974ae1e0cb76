//! The graph builder's random numbers equal those of `jax.random`, and its initial values those of `jax.nn.initializers`. The values are
//! from `data/random_values.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use std::fmt::Write;

use serde_json::Value;
use shardc::Compiler;
use shardc::exec::Program;
use shardc::graph::{
    DType::{BF16, F16, F32, UI8, UI16, UI32},
    Graph, Key, Mesh, Tensor, spec,
};
use shardc::runtime::HostArray;
use shardc_tests::devices::client;
use shardc_train::nn::{Distribution, Fan, Init};

const VALUES: &str = include_str!("../data/random_values.json");

const SHAPE: [i64; 2] = [5, 3];

/// The shape of initialized variables.
const MATRIX: [i64; 2] = [6, 4];

type Draw = for<'g> fn(Key<'g>) -> Tensor<'g>;

const DRAWS: &[(&str, Draw)] = &[
    ("bits32", |key| key.bits(SHAPE, UI32)),
    ("bits16", |key| key.bits(SHAPE, UI16)),
    ("bits8", |key| key.bits(SHAPE, UI8)),
    ("split", |key| {
        let keys: Vec<Tensor<'_>> = key.split(3).into_iter().map(Key::to_tensor).collect();
        keys[0].graph().stack(&keys, 0)
    }),
    ("fold_in", |key| key.fold_in(77).to_tensor()),
    ("uniform", |key| key.uniform(SHAPE, F32, 0, 1)),
    ("uniform_between", |key| key.uniform(SHAPE, F32, -2.0, 3.5)),
    ("uniform_bf16", |key| key.uniform(SHAPE, BF16, 0, 1)),
    ("uniform_f16", |key| key.uniform(SHAPE, F16, 0, 1)),
    ("normal", |key| key.normal(SHAPE, F32)),
    ("normal_bf16", |key| key.normal(SHAPE, BF16)),
    ("truncated_normal", |key| key.truncated_normal(SHAPE, F32, -2.0, 2.0)),
    ("bernoulli", |key| key.bernoulli(0.3, SHAPE)),
    ("gumbel", |key| key.gumbel(SHAPE, F32)),
    ("exponential", |key| key.exponential(SHAPE, F32)),
    ("categorical", |key| {
        let g = key.to_tensor().graph();
        key.categorical(g.constant(&[0.1f32, 0.2, 0.7, 0.5, 0.4, 0.1], [2, 3]).log(), -1)
    }),
    ("randint", |key| key.randint(SHAPE, -5, 1000)),
    ("permutation", |key| key.permutation(20)),
    ("init normal", |key| Init::normal(0.02).values(key, &MATRIX, F32)),
    ("init truncated_normal", |key| Init::TruncatedNormal(0.02).values(key, &MATRIX, F32)),
    ("init uniform", |key| Init::Uniform(0.5).values(key, &MATRIX, F32)),
    ("init lecun_normal", |key| Init::lecun_normal().values(key, &MATRIX, F32)),
    ("init lecun_uniform", |key| Init::lecun_uniform().values(key, &MATRIX, F32)),
    ("init he_normal", |key| Init::he_normal().values(key, &MATRIX, F32)),
    ("init he_uniform", |key| Init::he_uniform().values(key, &MATRIX, F32)),
    ("init glorot_normal", |key| Init::glorot_normal().values(key, &MATRIX, F32)),
    ("init glorot_uniform", |key| Init::glorot_uniform().values(key, &MATRIX, F32)),
    ("init normal_by_fan_out", |key| {
        let init = Init::VarianceScaling { scale: 2.0, fan: Fan::Out, distribution: Distribution::Normal };
        init.values(key, &MATRIX, F32)
    }),
    ("init ones", |key| Init::ones().values(key, &MATRIX, F32)),
    ("init identity", |key| Init::Identity.values(key, &MATRIX, F32)),
    ("init of a window", |key| Init::lecun_normal().values(key, &[3, 2, 4, 2], F32)),
];

fn one() -> Mesh {
    Mesh::new(&[("data", 1)]).unwrap()
}

fn words(seed: u32) -> HostArray {
    HostArray::from_slice(&[0u32, seed], &[2]).unwrap()
}

#[test]
fn random_numbers_match_jax() {
    let Some(client) = client().unwrap() else { return };
    let values: Value = serde_json::from_str(VALUES).unwrap();
    let g = Graph::new("draws", &one());
    let key = Key::from_tensor(g.parameter("key", [2], UI32));
    let named: Vec<(&str, Tensor<'_>)> = DRAWS.iter().map(|(name, draw)| (*name, draw(key))).collect();
    let module = g.finish(&named).unwrap();
    let program = Program::single(&client, &module).unwrap();
    let mut wrong = String::new();
    for seed in [0, 42] {
        let drawn = program.run(&client, &[words(seed)]).unwrap();
        for ((name, _), have) in DRAWS.iter().zip(drawn) {
            let list = values[format!("{name} {seed}")].as_array().unwrap();
            let want: Vec<f64> = list.iter().map(|n| n.as_f64().unwrap()).collect();
            let have = have.to_f64_vec();
            let is_equal = want.len() == have.len()
                && want.iter().zip(&have).all(|(a, b)| (a - b).abs() <= 1e-6 * a.abs().max(1.0));
            if !is_equal {
                writeln!(wrong, "{name} {seed}: {have:?}, not {want:?}").unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn bits_of_a_thousand_keys_match_jax() {
    let Some(client) = client().unwrap() else { return };
    let values: Value = serde_json::from_str(VALUES).unwrap();
    let g = Graph::new("bits", &one());
    let bits = Key::from_tensor(g.parameter("key", [2], UI32)).bits([7], UI32);
    let program = Program::single(&client, &g.finish(&[("bits", bits)]).unwrap()).unwrap();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for seed in 0..1000 {
        for byte in &program.run(&client, &[words(seed)]).unwrap()[0].data {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
    assert_eq!(values["bits of keys 0 to 999"], format!("{hash:016x}"));
}

#[test]
fn each_device_draws_its_own_shard() {
    let g = Graph::new("draw", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap());
    let key = g.key(7);
    let x = key.normal([64, 32], F32).mark_sharding(spec!["data", "model"]);
    let output = Compiler::new().partition_module(g.finish(&[("x", x)]).unwrap()).unwrap();
    let text = output.text();
    for collective in ["all_gather", "all_reduce", "collective_permute", "all_to_all"] {
        assert!(!text.contains(collective), "{text}");
    }
    assert!(text.contains("tensor<16x16xui32>") && !text.contains("tensor<64x32xui32>"), "{text}");
}
