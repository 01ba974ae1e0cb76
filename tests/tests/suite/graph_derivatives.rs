//! Custom derivatives in the graph builder, and rematerialization: values on one device and partitioned.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc::graph::{
    DType::{F32, I32},
    Graph, Keep, Mesh, Tensor, spec,
};
use shardc::runtime::{Client, HostArray};
use shardc::{Compiler, exec::Program};
use shardc_ir::{Module, OpKind, UnaryOp};
use shardc_tests::devices::{Reference, Verdict, client, compare};

fn mesh() -> Mesh {
    Mesh::new(&[("data", 4), ("model", 2)]).unwrap()
}

fn run(client: &Client, module: &Module, inputs: &[HostArray]) -> Vec<Vec<f64>> {
    let results = Program::single(client, module).unwrap().run(client, inputs).unwrap();
    results.iter().map(HostArray::to_f64_vec).collect()
}

fn floats(numbers: &[f64], shape: &[usize]) -> HostArray {
    HostArray::from_f64(F32, shape, numbers).unwrap()
}

fn assert_close(have: &[f64], want: &[f64]) {
    assert_eq!(have.len(), want.len());
    for (a, b) in have.iter().zip(want) {
        assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{have:?}, not {want:?}");
    }
}

/// Checks that the partitioned module produces the results of one device.
fn assert_partitions(client: &Client, module: Module) {
    let output = Compiler::new().partition_module(module.clone()).unwrap();
    let reference = Reference::new(client, module, &output).unwrap();
    assert_eq!(compare(client, &reference, &output), Verdict::Equal);
}

#[test]
fn custom_vjp_defines_the_gradient() {
    let Some(client) = client().unwrap() else { return };
    let g = Graph::new("clip", &mesh());
    let x = g.parameter("x", [8], F32).mark_sharding(spec!["data"]);
    let i = g.parameter("i", (), I32);
    // The cotangent is clipped; the integer has no cotangent.
    let y = g.custom_vjp(
        (x, i),
        |(x, i)| (x, (x, i.to(F32))),
        |(x, i), ct: Tensor<'_>| (ct.clamp(-0.5, 0.5) + 0.0 * x + i, ct.to(I32)),
    );
    let loss = (y.square() * 0.5).sum(..);
    let dx = g.grad(loss, &x);
    let module = g.finish(&[("loss", loss), ("dx", dx)]).unwrap();
    assert_eq!(module.funcs.len(), 1, "functions that nobody calls");
    let numbers = [-2.0, -0.5, -0.25, 0.0, 0.125, 0.5, 0.75, 3.0];
    let have =
        run(&client, &module, &[floats(&numbers, &[8]), HostArray::from_f64(I32, &[], &[2.0]).unwrap()]);
    let want: Vec<f64> = numbers.iter().map(|x: &f64| x.clamp(-0.5, 0.5) + 2.0).collect();
    assert_close(&have[1], &want);
    assert_partitions(&client, module);
}

/// `log(1 + exp(x))`, with a derivative that does not overflow.
fn log1pexp<'g>(g: &'g Graph, x: Tensor<'g>) -> Tensor<'g> {
    g.custom_jvp(x, |x| x.exp().log1p(), |x, dx| (x.exp().log1p(), dx * (1.0 - 1.0 / (1.0 + x.exp()))))
}

#[test]
fn custom_jvp_defines_the_gradient() {
    let Some(client) = client().unwrap() else { return };
    let g = Graph::new("softplus", &mesh());
    let x = g.parameter("x", [4], F32).mark_sharding(spec!["data"]);
    // The function is applied directly, and in a loop that captures values.
    let (end, _) =
        g.scan_with(shardc::graph::ScanOptions { length: Some(3), ..Default::default() }, x, (), |x, ()| {
            (log1pexp(&g, x) * 0.5, ())
        });
    let loss = (log1pexp(&g, x) + end).sum(..);
    let dx = g.grad(loss, &x);
    let module = g.finish(&[("dx", dx)]).unwrap();
    let numbers = [-3.0, 0.0, 1.0, 100.0];
    let have = run(&client, &module, &[floats(&numbers, &[4])]);
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    let want: Vec<f64> = numbers
        .iter()
        .map(|&x| {
            let (mut y, mut dy) = (x, 1.0);
            for _ in 0..3 {
                (y, dy) = (0.5 * y.exp().ln_1p(), 0.5 * dy * sigmoid(y));
            }
            assert!(y.is_finite());
            sigmoid(x) + dy
        })
        .collect();
    // The largest input overflows in the value, not in its derivative: exp(100) is not representable in f32.
    assert_close(&have[0][..3], &want[..3]);
    assert!((have[0][3] - want[3]).abs() < 1.0, "{} for {}", have[0][3], want[3]);
    assert_partitions(&client, module);
}

fn layer<'g>(x: Tensor<'g>, w: Tensor<'g>, scale: Tensor<'g>) -> Tensor<'g> {
    (x.dot(w).checkpoint_name("product").tanh() * scale).sin()
}

/// Three layers, each rematerialized by the policy.
fn layers(policy: Option<Keep>) -> Module {
    let g = Graph::new("layers", &mesh());
    let x = g.parameter("x", [8, 16], F32).mark_sharding(spec!["data", None]);
    let ws = g.parameter("ws", [3, 16, 16], F32).mark_sharding(spec![None, None, "model"]);
    let scale = g.parameter("scale", [16], F32);
    let (end, ()) = g.scan(x, ws, |x, w| match &policy {
        // The checkpointed function captures the scale.
        Some(policy) => (g.checkpoint(policy.clone(), (x, w), |(x, w)| layer(x, w, scale)), ()),
        None => (layer(x, w, scale), ()),
    });
    let loss = end.square().mean(..);
    let (dws, dscale) = g.grad(loss, &(ws, scale));
    g.finish(&[("loss", loss), ("dws", dws), ("dscale", dscale)]).unwrap()
}

/// Counts the operations that satisfy `is`.
fn count(module: &Module, is: impl Fn(&OpKind) -> bool) -> usize {
    module.bodies().flat_map(|body| module.walk(body)).filter(|&op| is(&module.ops[op].kind)).count()
}

#[test]
fn rematerialization_preserves_gradients() {
    let Some(client) = client().unwrap() else { return };
    let inputs = [
        floats(&(0..128).map(|i| f64::from(i).sin()).collect::<Vec<_>>(), &[8, 16]),
        floats(&(0..768).map(|i| f64::from(i).cos() * 0.3).collect::<Vec<_>>(), &[3, 16, 16]),
        floats(&(0..16).map(|i| 1.0 + 0.05 * f64::from(i)).collect::<Vec<_>>(), &[16]),
    ];
    let plain = run(&client, &layers(None), &inputs);
    let named = Keep::Named(vec!["product".to_owned()]);
    for (policy, tanhs, dots) in
        [(Keep::Everything, 1, 3), (Keep::Nothing, 2, 4), (Keep::Products, 2, 3), (named, 2, 3)]
    {
        let module = layers(Some(policy.clone()));
        let tanh = |kind: &OpKind| matches!(kind, OpKind::Unary(UnaryOp::Tanh));
        assert_eq!(count(&module, tanh), tanhs, "{policy:?}");
        assert_eq!(count(&module, |kind| matches!(kind, OpKind::DotGeneral(_))), dots, "{policy:?}");
        let barriers = count(&module, |kind| matches!(kind, OpKind::OptimizationBarrier));
        assert_eq!(barriers > 0, policy != Keep::Everything, "{policy:?}");
        for (have, want) in run(&client, &module, &inputs).iter().zip(&plain) {
            assert_close(have, want);
        }
        assert_partitions(&client, module);
    }
}
