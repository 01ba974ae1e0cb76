//! Model components compared with other components or with arithmetic.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use indexmap::IndexMap;
use shardc::Compiler;
use shardc::exec::Program;
use shardc::graph::{
    DType::{F32, F64, I32},
    Graph, Mesh, Tensor, spec,
};
use shardc::runtime::HostArray;
use shardc_ir::Module;
use shardc_passes::driver::strategy::bytes_sent;
use shardc_tests::devices::client;
use shardc_train::nn::layers::{Dense, Places, Seen, blockwise_attention, dot_product_attention};
use shardc_train::nn::loss::CrossEntropy;
use shardc_train::nn::models::{Decoder, megatron};
use shardc_train::nn::optim::{self, LossScale, Sgd};
use shardc_train::nn::{Init, Policy, Scope, StepProgram, sample};
use shardc_train::{State, Step};

fn graph() -> Graph {
    Graph::new("step", &Mesh::new(&[("data", 1)]).unwrap())
}

/// Attention of 24 queries to as many keys, with its gradients.
fn attention(seen: &Seen, block: Option<i64>) -> Module {
    let g = graph();
    let q = g.parameter("q", [2, 24, 4, 8], F32);
    let (k, v) = (g.parameter("k", [2, 24, 2, 8], F32), g.parameter("v", [2, 24, 2, 8], F32));
    let y = match block {
        Some(block) => blockwise_attention(q, k, v, seen, block, F32),
        None => dot_product_attention(q, k, v, seen, &Places::default(), F32),
    };
    let weights = g.arange(y.num_elements(), F32).cos().reshape(y.shape());
    let (dq, dk, dv) = g.grad((y * weights).sum(..), &(q, k, v));
    g.finish(&[("y", y), ("dq", dq), ("dk", dk), ("dv", dv)]).unwrap()
}

#[test]
fn blockwise_attention_matches_attention() {
    let Some(client) = client().unwrap() else { return };
    let causal = Seen { causal: true, ..Seen::default() };
    let near = Seen { window: Some(5), softcap: Some(2.0), ..causal };
    let numbers = |count: i32, by: f64| (0..count).map(|i| (f64::from(i) * by).sin()).collect::<Vec<f64>>();
    let inputs = [
        HostArray::from_f64(F32, &[2, 24, 4, 8], &numbers(1536, 0.7)).unwrap(),
        HostArray::from_f64(F32, &[2, 24, 2, 8], &numbers(768, 1.3)).unwrap(),
        HostArray::from_f64(F32, &[2, 24, 2, 8], &numbers(768, 2.1)).unwrap(),
    ];
    for seen in [Seen::default(), causal, near] {
        let run = |module: &Module| Program::single(&client, module).unwrap().run(&client, &inputs).unwrap();
        let (blocks, whole) = (attention(&seen, Some(6)), attention(&seen, None));
        for (have, want) in run(&blocks).iter().zip(&run(&whole)) {
            let off = have
                .to_f64_vec()
                .iter()
                .zip(want.to_f64_vec())
                .map(|(a, b)| (a - b).abs())
                .fold(0.0, f64::max);
            assert!(off < 2e-5, "{seen:?}: off by {off:e}");
        }
        // No tensor contains all queries times all keys.
        let ops = blocks.bodies().flat_map(|body| blocks.walk(body));
        let results = ops.flat_map(|op| blocks.ops[op].results.to_vec());
        let squares = results.filter(|&v| blocks.shape(v).iter().filter(|&&n| n == 24).count() > 1).count();
        assert_eq!(squares, 0, "{seen:?}");
    }
}

#[test]
fn a_decoder_supports_blockwise_attention() {
    let Some(client) = client().unwrap() else { return };
    let loss = |model: &Decoder| {
        let g = graph();
        let p = Scope::new(&g);
        let tokens = g.parameter("tokens", [2, 24], I32);
        let loss = CrossEntropy::new().mean(model.apply(&p, tokens, None), tokens);
        optim::apply(&Sgd::new(0.1), &p, &p.gradients(loss));
        let step = Step::single(&client, p.finish(&[("loss", loss)]).unwrap()).unwrap();
        let mut state = step.init(0).unwrap();
        let tokens = HostArray::from_slice(&(0..48).collect::<Vec<i32>>(), &[2, 24]).unwrap();
        let mut run = || step.run(&mut state, &[("tokens", &tokens)]).unwrap().scalar("loss").unwrap();
        [run(), run(), run()]
    };
    let whole = Decoder::llama(64, 32, 48, 2, 4, 2);
    let blocks = whole.clone().attention_block(8);
    for (a, b) in loss(&whole).into_iter().zip(loss(&blocks)) {
        assert!((a - b).abs() < 1e-5 * a, "{a} and {b}");
    }
}

/// Logits sharded over classes remain sharded in the forward and backward pass: only per-example scalars are communicated.
#[test]
fn sharded_cross_entropy_sends_scalars_per_example() {
    let g = Graph::new("loss", &Mesh::new(&[("data", 2), ("model", 4)]).unwrap());
    let x = g.parameter("x", [8, 16], F32).mark_sharding(spec!["data", None]);
    let w = g.parameter("w", [16, 4096], F32).mark_sharding(spec![None, "model"]);
    let labels = g.parameter("labels", [8], I32).mark_sharding(spec!["data"]);
    let loss = CrossEntropy::new().label_smoothing(0.1).z_loss(1e-4).mean(x.dot(w), labels);
    let dw = g.grad(loss, &w);
    let output = Compiler::new().partition_module(g.finish(&[("loss", loss), ("dw", dw)]).unwrap()).unwrap();
    let text = output.text();
    assert!(!text.contains("all_gather") && !text.contains("all_to_all"), "{text}");
    // The gradient of the weights is all-reduced once over "data": 16 x 1024 numbers. All other collectives send per-example values of
    // four examples.
    let sent = bytes_sent(&output.module);
    assert!(sent <= 16 * 1024 * 4 + 1024, "{sent} bytes are sent\n{text}");
}

/// The loss after one step of gradient descent, or its gradient with respect to each weight before the step (MAML). The model is applied to
/// explicit weights; the result must equal that of a model whose variables have these values.
fn after_a_step(first_order: bool, gradients: bool) -> StepProgram {
    let g = graph();
    let p = Scope::new(&g).with_policy(Policy::all(F64));
    let numbers = |by: f64| (g.arange(12, F64) * by).sin().reshape([4, 3]);
    fn loss<'g>(p: &Scope<'g>, x: Tensor<'g>, y: Tensor<'g>) -> Tensor<'g> {
        let h = p.stack("h", 2, x, |p, x| Dense::new(3).apply(&p.at("map"), x).tanh());
        (Dense::new(3).apply(&p.at("out"), h) - y).square().mean(..)
    }
    let by = p.gradients(loss(&p, numbers(0.7), numbers(1.3)));
    let step = p.trainable().into_iter().zip(by).map(|(param, by)| {
        let by = if first_order { by.stop_gradient() } else { by };
        (param.name, param.tensor - 0.5 * by)
    });
    let after = loss(&p.with_values(step), numbers(2.1), numbers(2.9));
    let mut metrics = vec![("loss".to_owned(), after)];
    if gradients {
        let names = p.trainable().into_iter().map(|param| param.name);
        metrics.extend(names.zip(p.gradients(after)));
    }
    let metrics: Vec<(&str, Tensor<'_>)> = metrics.iter().map(|(name, x)| (name.as_str(), *x)).collect();
    p.finish(&metrics).unwrap()
}

#[test]
fn gradients_go_through_given_weights() {
    let Some(client) = client().unwrap() else { return };
    let [whole, first_order, value] = [(false, true), (true, true), (false, false)]
        .map(|(first_order, gradients)| Step::single(&client, after_a_step(first_order, gradients)).unwrap());
    let begin = value.init(0).unwrap();
    let none: [(&str, &HostArray); 0] = [];
    let run = |step: &Step, state: &State| step.run(&mut step.adopt(state).unwrap(), &none).unwrap();
    let (by, by_first_order) = (run(&whole, &begin), run(&first_order, &begin));
    let (mut checked, mut most) = (0, 0.0f64);
    for variable in value.variables() {
        let of = |name: &str| begin.get(name).unwrap();
        let have = by.get(&variable.name).unwrap().to_f64_vec();
        for i in 0..have.len() {
            let loss = |by: f64| {
                let mut arrays: IndexMap<String, HostArray> =
                    value.variables().iter().map(|v| (v.name.clone(), of(&v.name))).collect();
                let mut numbers = of(&variable.name).to_f64_vec();
                numbers[i] += by;
                let shape = arrays[&variable.name].shape.clone();
                arrays[&variable.name] = HostArray::from_f64(F64, &shape, &numbers).unwrap();
                run(&value, &value.put(&arrays).unwrap()).scalar("loss").unwrap()
            };
            let want = (loss(1e-4) - loss(-1e-4)) / 2e-4;
            assert!((have[i] - want).abs() < 1e-7, "{} {i}: {}, not {want}", variable.name, have[i]);
            checked += 1;
        }
        let others = by_first_order.get(&variable.name).unwrap().to_f64_vec();
        most = have.iter().zip(others).map(|(a, b)| (a - b).abs()).fold(most, f64::max);
    }
    assert_eq!(checked, 2 * (9 + 3) + 9 + 3);
    assert!(most > 1e-2, "the second derivative is a part of it: {most}");
}

/// A model that computes with parameter averages equals a model whose parameters are these averages.
#[test]
fn a_model_is_evaluated_with_parameter_averages() {
    let Some(client) = client().unwrap() else { return };
    let model = Decoder::llama(16, 8, 12, 2, 4, 2);
    let mesh = Mesh::new(&[("data", 2), ("model", 2)]).unwrap();
    let make = |ema: bool| {
        let g = Graph::new("step", &mesh);
        let p = Scope::new(&g);
        let tokens = g.parameter("tokens", [2, 6], I32).mark_sharding(spec!["data", None]);
        let logits = model.apply(&p, tokens, None);
        let loss = CrossEntropy::new().mean(logits, tokens);
        if ema {
            optim::apply(&Sgd::new(2.0), &p, &p.gradients(loss));
            optim::average(&p, "ema", 0.5);
            let means = p.trainable().into_iter().map(|param| {
                let mean = p.variable_of(&param, "ema", F32, Init::copy_of(&param.name));
                (param.name, mean)
            });
            let logits = model.apply(&p.with_values(means), tokens, None);
            p.mark_sharding(|variable| megatron(variable, "model"));
            return p
                .finish(&[("loss", loss), ("of_means", CrossEntropy::new().mean(logits, tokens))])
                .unwrap();
        }
        p.finish(&[("loss", loss)]).unwrap()
    };
    let train = Step::compile(&client, &Compiler::new(), make(true)).unwrap();
    let plain = Step::single(&client, make(false)).unwrap();
    let tokens = HostArray::from_slice(&[3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8], &[2, 6]).unwrap();
    let mut state = train.init(0).unwrap();
    for i in 0..4 {
        let means = plain
            .variables()
            .iter()
            .map(|v| (v.name.clone(), state.get(&format!("ema.{}", v.name)).unwrap()));
        let mut of_means = plain.put(&means.collect()).unwrap();
        let want = plain.run(&mut of_means, &[("tokens", &tokens)]).unwrap().scalar("loss").unwrap();
        let metrics = train.run(&mut state, &[("tokens", &tokens)]).unwrap();
        let (loss, have) = (metrics.scalar("loss").unwrap(), metrics.scalar("of_means").unwrap());
        assert!((have - want).abs() < 1e-5, "{have}, not {want}");
        assert_eq!(i == 0, (loss - have).abs() < 1e-5, "{loss} and {have}");
    }
}

fn stays(logits: Tensor<'_>) -> Tensor<'_> {
    logits.gt(-1e30).to(F32)
}

#[test]
fn top_k_and_top_p_keep_the_most_likely_tokens() {
    let Some(client) = client().unwrap() else { return };
    let g = graph();
    // Probabilities of a half, a quarter, an eighth and two sixteenths.
    let logits = g.constant(&[0.125f32, 0.5, 0.0625, 0.25, 0.0625], [1, 5]).log();
    let (k, p) = (stays(sample::top_k(logits, 2)), stays(sample::top_p(logits, 0.7)));
    let (one, all) = (stays(sample::top_p(logits, 0.1)), stays(sample::top_p(logits, 1.0)));
    let module = g.finish(&[("k", k), ("p", p), ("one", one), ("all", all)]).unwrap();
    let have: Vec<Vec<f64>> = Program::single(&client, &module)
        .unwrap()
        .run(&client, &[])
        .unwrap()
        .iter()
        .map(HostArray::to_f64_vec)
        .collect();
    assert_eq!(have[0], [0.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!(have[1], [0.0, 1.0, 0.0, 1.0, 0.0]);
    assert_eq!(have[2], [0.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(have[3], [1.0; 5]);
}

#[test]
fn gradient_overflow_changes_only_the_loss_scale() {
    let Some(client) = client().unwrap() else { return };
    let g = graph();
    let p = Scope::new(&g);
    let w = p.parameter("w", [2], Init::ones());
    let x = g.parameter("x", [2], F32);
    let loss = (w * x).sum(..);
    let scaling = LossScale { growth_interval: 2, initial: 8.0, ..LossScale::default() };
    let (gradients, is_finite) = scaling.gradients(&p, loss);
    optim::apply(&Sgd::new(0.5), &p, &gradients);
    scaling.skip_unless(&p, is_finite);
    let step = Step::single(&client, p.finish(&[("loss", loss)]).unwrap()).unwrap();
    let mut state = step.put(&first(&step)).unwrap();
    let mut seen = Vec::new();
    for x in [1.0, 1e38, 1.0, 1.0, 1.0] {
        step.run(&mut state, &[("x", &HostArray::from_f64(F32, &[2], &[x, 1.0]).unwrap())]).unwrap();
        seen.push((state.get("w").unwrap().to_f64_vec(), state.get("loss_scale").unwrap().to_f64_vec()[0]));
    }
    let expected = [(0.5, 8.0), (0.5, 4.0), (0.0, 4.0), (-0.5, 8.0), (-1.0, 8.0)];
    for ((w, scale), (want, want_scale)) in seen.iter().zip(expected) {
        assert_eq!((w.as_slice(), *scale), ([want, want].as_slice(), want_scale), "{seen:?}");
    }
}

/// The initial values of a step's variables.
fn first(step: &Step) -> IndexMap<String, HostArray> {
    let value = |name: &str| match name {
        "w" => vec![1.0, 1.0],
        "loss_scale" => vec![8.0],
        _ => vec![0.0],
    };
    let array = |variable: &shardc_train::nn::Variable| {
        let shape: Vec<usize> = variable.shape.iter().map(|&n| n as usize).collect();
        HostArray::from_f64(variable.dtype, &shape, &value(&variable.name)).unwrap()
    };
    step.variables().iter().map(|variable| (variable.name.clone(), array(variable))).collect()
}
