//! Optimizers update parameters as `optax` does, on one device and on eight. The values are from `data/optim_values.py`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use indexmap::IndexMap;
use serde_json::Value;
use shardc::Compiler;
use shardc::graph::{
    DType::{BF16, F32},
    Graph, Mesh, Tensor, spec,
};
use shardc::runtime::HostArray;
use shardc_tests::devices::client;
use shardc_train::nn::layers::{Conv, Dense, DenseGeneral, Moe};
use shardc_train::nn::optim::{
    self, Adafactor, AdamW, Frozen, Groups, Lion, Muon, Optimizer, Schedule, Sgd, clip_by_global_norm,
};
use shardc_train::nn::{Init, Kind, Maps, Scope, StepProgram};
use shardc_train::{State, Step};

const VALUES: &str = include_str!("../data/optim_values.json");

fn step(apply: impl for<'g> FnOnce(&Scope<'g>, &[Tensor<'g>])) -> StepProgram {
    let g = Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap());
    let p = Scope::new(&g);
    let x = g.parameter("x", [8, 4], F32).mark_sharding(spec!["data", None]);
    let y = g.parameter("y", [8, 3], F32).mark_sharding(spec!["data", None]);
    let w = p.parameter("w", [4, 3], Init::zeros()).mark_sharding(spec!["model", None]);
    let b = p.parameter("b", [3], Init::zeros());
    let loss = ((x.dot(w) + b).tanh() - y).square().mean(..);
    apply(&p, &p.gradients(loss));
    p.finish(&[("loss", loss)]).unwrap()
}

fn plain(optimizer: &impl Optimizer) -> StepProgram {
    step(|p, gradients| optim::apply(optimizer, p, gradients))
}

fn decayed() -> AdamW {
    AdamW::new(0.1).with_weight_decay(0.05)
}

fn undecayed() -> Groups {
    Groups::new(decayed()).with("no decay", optim::is_bias_or_norm, decayed().with_weight_decay(0.0))
}

#[test]
fn ten_steps_match_optax() {
    let Some(client) = client().unwrap() else { return };
    let values: Value = serde_json::from_str(VALUES).unwrap();
    let list = |name: &str| -> Vec<f64> {
        values[name].as_array().unwrap().iter().map(|n| n.as_f64().unwrap()).collect()
    };
    let array = |name: &str, shape: &[usize]| HostArray::from_f64(F32, shape, &list(name)).unwrap();
    let (x, y) = (array("x", &[8, 4]), array("y", &[8, 3]));
    let cosine = Schedule::WarmupCosine { from: 0.0, peak: 0.1, warmup: 3.0, steps: 8.0, to: 0.01 };
    let piecewise = Schedule::Piecewise { from: 0.2, factors: vec![(3.0, 0.5), (6.0, 0.1)] };
    let steps_down = Schedule::Piecewise { from: 0.2, factors: vec![(6.0, 0.1)] };
    let steps = [
        ("sgd", plain(&Sgd::new(0.1))),
        ("momentum", plain(&Sgd::new(0.1).with_momentum(0.9))),
        ("nesterov", plain(&Sgd { nesterov: true, ..Sgd::new(0.1).with_momentum(0.9) })),
        ("adam", plain(&AdamW::adam(0.1))),
        ("adamw", plain(&AdamW::new(0.1).with_weight_decay(0.05))),
        ("lion", plain(&Lion::new(0.02))),
        ("adafactor", plain(&Adafactor { min_factored_size: 2, ..Adafactor::new(0.1) })),
        ("adafactor_whole", plain(&Adafactor::new(0.1))),
        ("muon", plain(&Muon::new(0.02))),
        ("cosine", plain(&Sgd::new(cosine))),
        ("linear", plain(&Sgd::new(Schedule::Linear { from: 0.2, to: 0.02, steps: 6.0 }))),
        ("piecewise", plain(&Sgd::new(piecewise))),
        ("decayed", plain(&Sgd::new(0.1).with_momentum(0.9).with_weight_decay(0.05))),
        ("warmup", plain(&Sgd::new(steps_down.with_warmup(3.0)))),
        (
            "groups",
            plain(&Groups::new(Sgd::new(0.03).with_momentum(0.9)).with(
                "decay",
                |param| param.rank() == 2,
                decayed(),
            )),
        ),
        (
            "muon_matrices",
            plain(&Groups::new(decayed()).with("muon", |param| param.name == "w", Muon::new(0.02))),
        ),
        ("undecayed", plain(&undecayed())),
        (
            "frozen_head",
            plain(&Groups::new(AdamW::adam(0.1)).with("stay", |param| param.name == "b", Frozen)),
        ),
        (
            "clipped",
            step(|p, gradients| optim::apply(&AdamW::adam(0.1), p, &clip_by_global_norm(gradients, 0.3))),
        ),
    ];
    for (name, program) in steps {
        for single in [true, false] {
            let step = match single {
                true => Step::single(&client, program.clone()).unwrap(),
                false => Step::compile(&client, &Compiler::new(), program.clone()).unwrap(),
            };
            let mut begin: IndexMap<String, HostArray> = IndexMap::new();
            for variable in step.variables() {
                let shape: Vec<usize> = variable.shape.iter().map(|&n| n as usize).collect();
                let value = match variable.name.as_str() {
                    known @ ("w" | "b") => array(known, &shape),
                    _ => HostArray::zeros(variable.dtype, &shape).unwrap(),
                };
                begin.insert(variable.name.clone(), value);
            }
            let mut state = step.put(&begin).unwrap();
            for _ in 0..10 {
                step.run(&mut state, &[("x", &x), ("y", &y)]).unwrap();
            }
            let have = [state.get("w").unwrap().to_f64_vec(), state.get("b").unwrap().to_f64_vec()].concat();
            let off = have.iter().zip(list(name)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            // These optimizers normalize updates, so the rounding of small gradients has a larger effect.
            let most = if name.starts_with("adafactor") || name.starts_with("muon") { 3e-5 } else { 4e-6 };
            assert!(off < most, "{name} is off by {off:e}: {have:?}, not {:?}", list(name));
        }
    }
}

/// The values are from `data/muon_values.py`.
#[test]
fn multidimensional_muon_matches_optax() {
    let Some(client) = client().unwrap() else { return };
    let values: Value = serde_json::from_str(include_str!("../data/muon_values.json")).unwrap();
    let values = values.as_object().unwrap();
    // The initial elements of a parameter, and the coefficients of their sines in the loss.
    let numbers = |name: &str, count: i64| -> [Vec<f64>; 2] {
        let by = 0.2 * (1.0 + names().iter().position(|known| *known == name).unwrap() as f64);
        let all = (0..count).map(|i| i as f64);
        [
            all.clone().map(|i| (1.7 * i + by).sin()).collect(),
            all.map(|i| (0.37 * i * i + by).cos()).collect(),
        ]
    };
    let program = || {
        let g = Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap());
        let p = Scope::new(&g);
        let of = |name: &str, shape: &[i64]| p.parameter(name, shape, Init::zeros());
        _ = of("matrix", &[4, 6]).mark_sharding(spec!["data", "model"]);
        _ = of("experts", &[4, 4, 6]).mark_sharding(spec!["data", None, "model"]);
        _ = (of("window", &[2, 2, 3, 5]), of("said", &[4, 2, 3]), of("adam", &[2, 3, 4]));
        // Only the kernels that the layers declare matter for this test, not the outputs of the layers.
        let (x, heads) = (g.ones([2, 6], F32), g.ones([2, 2, 4], F32));
        _ = DenseGeneral::new(&[2, 4]).use_bias(false).apply(&p.at("query"), x);
        _ = DenseGeneral::new(&[6]).axes(2).use_bias(false).apply(&p.at("out"), heads);
        _ = Conv::new(4, &[3]).use_bias(false).apply(&p.at("conv"), g.ones([2, 5, 3], F32));
        _ = Moe::new(4, 2, 6).apply(&p.at("moe"), g.ones([1, 4, 4], F32));
        p.stack("h", 3, g.ones([2, 4], F32), |p, x| {
            _ = DenseGeneral::new(&[2, 3]).use_bias(false).apply(&p.at("heads"), x);
            _ = p.parameter("experts", [2, 4, 3], Init::zeros());
            x
        });
        p.mark_sharding(|variable| match &*variable.name {
            "query.kernel" => Some(spec![None, "model", None]),
            "h.heads.kernel" => Some(spec![None, "data", "model", None]),
            _ => None,
        });
        let mut loss = g.scalar(0.0, F32);
        for param in p.trainable() {
            if names().contains(&&*param.name) {
                let shape = param.tensor.shape();
                let [_, by] = numbers(&param.name, shape.iter().product());
                let by: Vec<f32> = by.into_iter().map(|number| number as f32).collect();
                loss = loss + (param.tensor.sin() * g.constant(&by, shape)).sum(..);
            }
        }
        let muon = Muon::new(0.05).maps(|param| match &*param.name {
            "said" => Some(Maps { maps: 0, outputs: 2 }),
            "adam" => None,
            _ => Muon::usual(param),
        });
        optim::apply(&muon, &p, &p.gradients(loss));
        p.finish(&[("loss", loss)]).unwrap()
    };
    for step in [
        Step::single(&client, program()).unwrap(),
        Step::compile(&client, &Compiler::new(), program()).unwrap(),
    ] {
        let mut begin: IndexMap<String, HostArray> = IndexMap::new();
        for variable in step.variables() {
            let shape: Vec<usize> = variable.shape.iter().map(|&n| n as usize).collect();
            let value = match names().contains(&&*variable.name) {
                true => {
                    let [begin, _] = numbers(&variable.name, variable.shape.iter().product());
                    HostArray::from_f64(F32, &shape, &begin)
                }
                false => HostArray::zeros(variable.dtype, &shape),
            };
            begin.insert(variable.name.clone(), value.unwrap());
        }
        let mut state = step.put(&begin).unwrap();
        let none: [(&str, &HostArray); 0] = [];
        for _ in 0..5 {
            step.run(&mut state, &none).unwrap();
        }
        for name in names() {
            let want: Vec<f64> =
                values[name].as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect();
            let have = state.get(name).unwrap().to_f64_vec();
            let off = have.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(
                have.len() == want.len() && off < 3e-5,
                "{name} is off by {off:e}: {have:?}, not {want:?}"
            );
        }
    }
}

/// The parameters of `data/muon_values.py`, in its order.
fn names() -> [&'static str; 11] {
    [
        "matrix",
        "experts",
        "window",
        "query.kernel",
        "out.kernel",
        "conv.kernel",
        "moe.gate",
        "h.heads.kernel",
        "h.experts",
        "said",
        "adam",
    ]
}

#[test]
fn matrices_that_a_parameter_lacks_are_reported() {
    for (maps, outputs) in [(0, 0), (0, 3), (2, 1), (usize::MAX, 1), (1, usize::MAX)] {
        let g = Graph::new("step", &Mesh::new(&[("data", 1)]).unwrap());
        let p = Scope::new(&g);
        let loss = p.parameter("w", [2, 3, 4], Init::ones()).square().mean(..);
        let muon = Muon::new(0.05).maps(move |_| Some(Maps { maps, outputs }));
        optim::apply(&muon, &p, &p.gradients(loss));
        let errors = p.finish(&[]).unwrap_err();
        let want = format!(
            "muon: the parameter \"w\" of shape [2, 3, 4] cannot be treated as matrices with {maps} batch dimensions and {outputs} output \
             dimensions: at least one input and one output dimension are required"
        );
        assert_eq!(errors.0[0].kind.to_string(), want);
    }
}

#[test]
fn a_missing_gradient_is_reported_with_its_parameter() {
    let g = Graph::new("step", &Mesh::new(&[("data", 1)]).unwrap());
    let p = Scope::new(&g);
    let w = p.at("dense").parameter("kernel", [4], Init::zeros());
    p.at("dense").parameter("bias", [4], Init::zeros());
    optim::apply(&Sgd::new(0.1), &p, &[w]);
    let errors = p.finish(&[]).unwrap_err();
    assert_eq!(
        errors.0[0].kind.to_string(),
        "the parameter \"dense.bias\" has no gradient: the number of gradients is 1"
    );
}

/// With only weight decay, decayed parameters shrink and others are unchanged, in each layer of a stack.
#[test]
fn biases_of_stacked_layers_are_not_decayed() {
    let Some(client) = client().unwrap() else { return };
    let g = Graph::new("step", &Mesh::new(&[("data", 1)]).unwrap());
    let p = Scope::new(&g);
    let x = g.parameter("x", [2, 4], F32);
    let map = Dense { bias_init: Init::ones(), ..Dense::new(4) };
    let y = p.stack("h", 3, x, |p, x| {
        let x = x * p.at("norm").parameter("scale", [4], Init::ones());
        p.stack("inner", 2, x, |p, x| map.apply(&p.at("map"), x))
    });
    let heads = p.at("query").parameter("bias", [2, 2], Init::ones());
    let loss = (y.sum(..) + heads.sum(..)) * 0.0;
    let decay = |decay: f64| Sgd::new(0.5).with_weight_decay(decay);
    let optimizer = Groups::new(decay(0.5)).with("no decay", optim::is_bias_or_norm, decay(0.0));
    optim::apply(&optimizer, &p, &p.gradients(loss));
    let step = Step::single(&client, p.finish(&[]).unwrap()).unwrap();
    let mut state = step.init(0).unwrap();
    let values = |state: &State, name: &str| state.get(name).unwrap().to_f64_vec();
    let names = ["h.inner.map.kernel", "h.inner.map.bias", "h.norm.scale", "query.bias"];
    let before = names.map(|name| values(&state, name));
    step.run(&mut state, &[("x", &HostArray::zeros(F32, &[2, 4]).unwrap())]).unwrap();
    for (name, before) in names.into_iter().zip(before) {
        let part = if name.ends_with("kernel") { 0.75 } else { 1.0 };
        // The expected values are rounded to f32.
        let want: Vec<f32> = before.iter().map(|&number| (part * number) as f32).collect();
        assert_eq!(state.get(name).unwrap().to_vec::<f32>().unwrap(), want, "{name}");
    }
}

/// An optimizer updates the layers of a stack as it updates separate layers.
#[test]
fn stacked_layers_are_updated_separately() {
    let Some(client) = client().unwrap() else { return };
    let step = |optimizer: &dyn Optimizer, stacked: bool| {
        let g = Graph::new("step", &Mesh::new(&[("data", 1)]).unwrap());
        let p = Scope::new(&g);
        let x = g.parameter("x", [8, 4], F32);
        let y = if stacked {
            p.stack("h", 3, x, |p, x| Dense::new(4).apply(&p.at("map"), x).tanh())
        } else {
            (0..3).fold(x, |x, i| Dense::new(4).apply(&p.at(format!("h.{i}.map")), x).tanh())
        };
        optim::apply(optimizer, &p, &p.gradients((y - 0.5).square().mean(..)));
        Step::single(&client, p.finish(&[]).unwrap()).unwrap()
    };
    let number = |name: &str, i: usize| f64::from(i as u32) * if name == "kernel" { 1.7 } else { 0.3 };
    let layer = |name: &str, layer: usize, size: usize| -> Vec<f64> {
        (0..size).map(|i| (0.3 * layer as f64 + 0.2) * number(name, i + 1).sin()).collect()
    };
    let x: Vec<f64> = (0..32).map(|i| f64::from(i).cos()).collect();
    let x = HostArray::from_f64(F32, &[8, 4], &x).unwrap();
    let optimizers: [(&str, Box<dyn Optimizer>); 6] = [
        ("sgd", Box::new(Sgd::new(0.1).with_momentum(0.9))),
        ("adamw", Box::new(decayed())),
        ("lion", Box::new(Lion::new(0.02))),
        ("muon", Box::new(Muon::new(0.02))),
        ("adafactor", Box::new(Adafactor { min_factored_size: 2, ..Adafactor::new(0.1) })),
        ("adafactor_whole", Box::new(Adafactor::new(0.1))),
    ];
    for (of, optimizer) in &optimizers {
        let after = |stacked: bool| -> Vec<Vec<f64>> {
            let step = step(&**optimizer, stacked);
            let mut begin: IndexMap<String, HostArray> = IndexMap::new();
            for variable in step.variables() {
                let shape: Vec<usize> = variable.shape.iter().map(|&n| n as usize).collect();
                let (size, name) = (shape.iter().product::<usize>(), variable.name.as_str());
                let what = if name.ends_with("kernel") { "kernel" } else { "bias" };
                let value = match variable.kind {
                    Kind::Parameter if stacked => {
                        let layers: Vec<f64> = (0..3).flat_map(|i| layer(what, i, size / 3)).collect();
                        HostArray::from_f64(F32, &shape, &layers)
                    }
                    Kind::Parameter => {
                        let i = name.as_bytes()[2] - b'0';
                        HostArray::from_f64(F32, &shape, &layer(what, usize::from(i), size))
                    }
                    _ => HostArray::zeros(variable.dtype, &shape),
                };
                begin.insert(name.to_owned(), value.unwrap());
            }
            let mut state = step.put(&begin).unwrap();
            for _ in 0..4 {
                step.run(&mut state, &[("x", &x)]).unwrap();
            }
            let get = |name: String| state.get(&name).unwrap().to_f64_vec();
            let all = |what: &str| match stacked {
                true => get(format!("h.map.{what}")),
                false => (0..3).flat_map(|i| get(format!("h.{i}.map.{what}"))).collect(),
            };
            vec![all("kernel"), all("bias")]
        };
        for (a, b) in after(true).concat().iter().zip(after(false).concat()) {
            assert!((a - b).abs() < 1e-4, "{of}: {a} in a stack, {b} one by one");
        }
    }
}

/// A grouped optimizer can resume from the state of an ungrouped optimizer, and the reverse.
#[test]
fn grouped_and_ungrouped_optimizer_state_is_compatible() {
    let Some(client) = client().unwrap() else { return };
    let [one, groups] =
        [plain(&decayed()), plain(&undecayed())].map(|step| Step::single(&client, step).unwrap());
    let state = groups.adopt(&one.init(0).unwrap()).unwrap();
    assert_eq!(one.adopt(&state).unwrap().len(), state.len());
    // A frozen group has no optimizer state, so another optimizer cannot resume from the state.
    let frozen = plain(&Groups::new(decayed()).with("stay", |param| param.name == "b", Frozen));
    let frozen = Step::single(&client, frozen).unwrap();
    let state = frozen.adopt(&state).unwrap();
    let error = one.adopt(&state).unwrap_err().to_string();
    assert!(error.contains("optimizer.mu.b"), "{error}");
}

/// The loss and its gradient, averaged over microbatches, equal those of the full batch, and so do parameter averages.
#[test]
fn gradient_accumulation_and_parameter_averages() {
    let Some(client) = client().unwrap() else { return };
    let step = |parts: Option<i64>| {
        let g = Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap());
        let p = Scope::new(&g);
        let x = g.parameter("x", [16, 4], F32).mark_sharding(spec!["data", None]);
        let (loss, gradients) = match parts {
            Some(parts) => optim::accumulated(&p, parts, &x, squares),
            None => {
                let loss = squares(&p, x);
                (loss, p.gradients(loss))
            }
        };
        optim::apply(&Sgd::new(0.1), &p, &gradients);
        optim::average(&p, "ema", 0.75);
        p.finish(&[("loss", loss)]).unwrap()
    };
    let run = |program: StepProgram| {
        let step = Step::compile(&client, &Compiler::new(), program).unwrap();
        let mut state = step.init(3).unwrap();
        let x: Vec<f64> = (0..64).map(|i| f64::from(i).sin()).collect();
        let x = HostArray::from_f64(F32, &[16, 4], &x).unwrap();
        let before = state.get("w").unwrap().to_f64_vec();
        let mut losses = Vec::new();
        for _ in 0..3 {
            losses.push(step.run(&mut state, &[("x", &x)]).unwrap().scalar("loss").unwrap());
        }
        (losses, before, state.get("w").unwrap().to_f64_vec(), state.get("ema.w").unwrap().to_f64_vec())
    };
    let (whole, parts) = (run(step(None)), run(step(Some(4))));
    assert_ne!(whole.1, whole.2);
    for (a, b) in [(&whole.0, &parts.0), (&whole.2, &parts.2), (&whole.3, &parts.3)] {
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6), "{a:?}, not {b:?}");
    }
}

/// Averages and copies of parameters have the parameters' initial values, for any shardings, even if the parameters are given.
#[test]
fn parameter_copies_start_as_parameters() {
    let Some(client) = client().unwrap() else { return };
    let g = Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap());
    let p = Scope::new(&g);
    let x = g.parameter("x", [16, 8], F32).mark_sharding(spec!["data", None]);
    let y = p.stack("h", 3, x, |p, x| Dense::new(8).apply(&p.at("map"), x).tanh());
    optim::apply(&Sgd::new(0.1), &p, &p.gradients(y.square().mean(..)));
    optim::average(&p, "ema", 0.75);
    let name = "h.map.kernel";
    let target = p.variable("target", Kind::Frozen, [3, 8, 8], BF16, Init::copy_of(name));
    target.mark_sharding(spec![None, "data", "model"]);
    p.mark_sharding(|v| (v.name == name).then(|| spec![None, None, "model"]));
    p.set("target", target * 0.5);
    let program = p.finish(&[]).unwrap();
    for single in [true, false] {
        let step = match single {
            true => Step::single(&client, program.clone()).unwrap(),
            false => Step::compile(&client, &Compiler::new(), program.clone()).unwrap(),
        };
        let of = |state: &State, name: &str| state.get(name).unwrap().to_f64_vec();
        let narrow = |numbers: &[f64]| HostArray::from_f64(BF16, &[192], numbers).unwrap().to_f64_vec();
        let mut state = step.init(3).unwrap();
        let first = of(&state, name);
        assert!(first[0] != first[64]);
        assert_eq!(of(&state, "ema.h.map.kernel"), first);
        assert_eq!(of(&state, "target"), narrow(&first));
        let x = HostArray::from_f64(F32, &[16, 8], &[0.3; 128]).unwrap();
        step.run(&mut state, &[("x", &x)]).unwrap();
        let next = of(&state, name);
        assert_ne!(first, next);
        for ((mean, before), after) in of(&state, "ema.h.map.kernel").iter().zip(&first).zip(&next) {
            assert!((mean - (0.75 * before + 0.25 * after)).abs() < 1e-6);
        }
        let given: Vec<f64> = (0..192).map(|i| f64::from(i).cos()).collect();
        let given = HostArray::from_f64(F32, &[3, 8, 8], &given).unwrap();
        let state = step.put_blocks(Some(&state), |variable, bounds| {
            let sizes: Vec<usize> = bounds.iter().map(|bounds| bounds.len()).collect();
            let offsets: Vec<usize> = bounds.iter().map(|bounds| bounds.start).collect();
            let is_it = variable.name == name;
            Ok(is_it.then(|| given.slice_block(&offsets, &sizes, 0.0).unwrap()))
        });
        let (state, given) = (state.unwrap(), given.to_f64_vec());
        assert_eq!(of(&state, "ema.h.map.kernel"), given);
        assert_eq!(of(&state, "target"), narrow(&given));
    }
}

fn squares<'g>(p: &Scope<'g>, x: Tensor<'g>) -> Tensor<'g> {
    let w = p.parameter("w", [4, 3], Init::lecun_normal());
    (x.dot(w).tanh() - 0.5).square().mean(..)
}
