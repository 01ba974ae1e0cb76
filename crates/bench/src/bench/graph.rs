//! Measures the graph builder: the time to build a graph, and the overhead of a step compared with executing its program.

use std::time::Instant;

use anyhow::{Result, ensure};
use shardc::Compiler;
use shardc::graph::{DType::F32, Graph, Mesh, Tensor, spec};
use shardc_runtime::{
    Client, ClientOptions, ShardedArray,
    plugin::{Environment, Plugin, PluginKind, find},
};
use shardc_train::nn::{Init, Scope, StepProgram};
use shardc_train::{HostArray, Step};

use super::{BenchArgs, median};

/// Number of operations of the built graph.
const OPERATIONS: usize = 100_000;

/// Upper bound of the time to build the graph, in seconds.
const SECONDS: f64 = 0.2;

/// Number of devices that execute the step.
const DEVICES: usize = 4;

/// Number of steps per measurement.
const STEPS: usize = 200;

/// Upper bound of a step's overhead per device, in microseconds.
const MICROSECONDS: f64 = 50.0;

pub(super) fn run(args: &BenchArgs) -> Result<()> {
    let mut seconds = Vec::new();
    let mut count = 0;
    for _ in 0..args.runs {
        let started = Instant::now();
        count = build()?;
        seconds.push(started.elapsed().as_secs_f64());
    }
    let took = median(seconds.into_iter());
    println!(
        "a graph of {count} operations is built in {:.0} ms (bound: {:.0} ms)",
        took * 1e3,
        SECONDS * 1e3
    );
    let overhead = overhead(args.runs)?;
    println!(
        "a step of the MLP has an overhead of {overhead:.1} us per device over its program (bound: {MICROSECONDS:.0} us)"
    );
    ensure!(took <= SECONDS, "building the graph takes {took:.3} s, but must take at most {SECONDS} s");
    ensure!(
        overhead <= MICROSECONDS,
        "the overhead of a step is {overhead:.1} us per device, but must be at most {MICROSECONDS} us"
    );
    Ok(())
}

/// Builds a graph of layers with at least [`OPERATIONS`] operations, and returns the number of its operations.
fn build() -> Result<usize> {
    let mesh = Mesh::new(&[("data", 4), ("model", 2)])?;
    let g = Graph::new("deep", &mesh);
    let (w, b) = (g.parameter("w", [64, 64], F32), g.parameter("b", [64], F32));
    let mut x = g.parameter("x", [32, 64], F32).mark_sharding(spec!["data", None]);
    while g.num_ops() < OPERATIONS {
        let y = (x.dot(w) + b).tanh();
        x = x + y * 0.5 - y.mean_keepdims(-1);
    }
    let count = g.num_ops();
    g.finish(&[("x", x)])?;
    Ok(count)
}

/// A multi-layer perceptron trained by gradient descent.
fn mlp() -> Result<StepProgram> {
    let mesh = Mesh::new(&[("data", DEVICES as i64)])?;
    let g = Graph::new("mlp", &mesh);
    let p = Scope::new(&g);
    let x = g.parameter("x", [32, 64], F32).mark_sharding(spec!["data", None]);
    let hidden = dense(&p.at("first"), x, 128).tanh();
    let y = dense(&p.at("second"), hidden, 16);
    let loss = y.square().mean(..);
    for (param, gradient) in p.trainable().into_iter().zip(p.gradients(loss)) {
        p.set(&param.name, param.tensor - 0.01 * gradient);
    }
    Ok(p.finish(&[("loss", loss)])?)
}

fn dense<'g>(p: &Scope<'g>, x: Tensor<'g>, features: i64) -> Tensor<'g> {
    let kernel = p.parameter("kernel", [x.size(-1), features], Init::Constant(0.01));
    x.dot(kernel) + p.parameter("bias", [features], Init::zeros())
}

/// Returns the overhead of a step per device, compared with executing its program on existing buffers, in microseconds.
fn overhead(runs: usize) -> Result<f64> {
    let plugin = find(PluginKind::Cpu, &Environment::from_process())?;
    let client =
        Client::new(&Plugin::load(&plugin.path)?, ClientOptions { cpu_device_count: Some(DEVICES) })?;
    let step = Step::compile(&client, &Compiler::new(), mlp()?)?;
    let mut state = step.init(0)?;
    let x = step.put_input("x", &HostArray::random(0, F32, &[32, 64])?)?;
    let executable = step.program().executable();
    let arrays: Vec<_> = state.iter().map(|(_, array)| array.clone()).chain([x.clone()]).collect();
    // The arrays are reordered for the program, whose first argument is the input.
    let arrays = [&arrays[arrays.len() - 1..], &arrays[..arrays.len() - 1]].concat();
    let arguments = ShardedArray::argument_lists(&arrays, DEVICES)?;
    let mut beyond = Vec::new();
    for _ in 0..runs {
        let started = Instant::now();
        for _ in 0..STEPS {
            step.run(&mut state, &[("x", &x)])?;
        }
        let ours = started.elapsed().as_secs_f64();
        let started = Instant::now();
        for _ in 0..STEPS {
            executable.execute(&arguments)?;
        }
        let bare = started.elapsed().as_secs_f64();
        println!(
            "  {:.1} us per step, {:.1} us for its program",
            ours / STEPS as f64 * 1e6,
            bare / STEPS as f64 * 1e6
        );
        beyond.push((ours - bare) / (STEPS * DEVICES) as f64 * 1e6);
    }
    Ok(median(beyond.into_iter()))
}
