//! The gradient is the same whether residuals are saved, rematerialized or offloaded to host memory: on one device and partitioned, in
//! both modes.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc::autodiff::{self, Checkpoint, Derivative, Keep, Offload, Request};
use shardc::graph::{DType::F32, Graph, Mesh};
use shardc::{Compiler, SpmdMode, exec};
use shardc_ir::{Module, OpKind};
use shardc_runtime::HostArray;
use shardc_tests::devices::{Reference, Verdict, client, compare};
use shardc_tests::sample::sample;
use shardc_train::nn::{Init, Scope};

/// Six layers as one loop, half of them with a branch, and a matmul after them.
const LAYERS: &str = r#"
sdy.mesh @mesh = <["data"=4, "model"=2]>
func.func private @named(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  return %x : tensor<8x16xf32>
}
func.func @main(%x: tensor<8x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}, {}]>},
    %w: tensor<6x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}, {"model"}]>}) -> tensor<f32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %r:3 = stablehlo.while(%i = %zero, %h = %x, %ws = %w) : tensor<i32>, tensor<8x16xf32>, tensor<6x16x16xf32>
  cond {
    %n = stablehlo.constant dense<6> : tensor<i32>
    %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %two = stablehlo.constant dense<2> : tensor<i32>
    %row = stablehlo.dynamic_slice %ws, %i, %z, %z, sizes = [1, 16, 16] : (tensor<6x16x16xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x16x16xf32>
    %l = stablehlo.reshape %row : (tensor<1x16x16xf32>) -> tensor<16x16xf32>
    %d = stablehlo.dot_general %h, %l, contracting_dims = [1] x [0] : (tensor<8x16xf32>, tensor<16x16xf32>) -> tensor<8x16xf32>
    %named = stablehlo.composite "shardc.checkpoint_name" %d {composite_attributes = {name = "product"}, decomposition = @named} : (tensor<8x16xf32>) -> tensor<8x16xf32>
    %odd = stablehlo.remainder %i, %two : tensor<i32>
    %t = "stablehlo.case"(%odd) ({
      %a = stablehlo.tanh %named : tensor<8x16xf32>
      stablehlo.return %a : tensor<8x16xf32>
    }, {
      %s = stablehlo.sine %named : tensor<8x16xf32>
      %e = stablehlo.multiply %s, %s : tensor<8x16xf32>
      stablehlo.return %e : tensor<8x16xf32>
    }) : (tensor<i32>) -> tensor<8x16xf32>
    %next = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %next, %t, %ws : tensor<i32>, tensor<8x16xf32>, tensor<6x16x16xf32>
  }
  %gram = stablehlo.dot_general %r#1, %r#1, contracting_dims = [1] x [1] : (tensor<8x16xf32>, tensor<8x16xf32>) -> tensor<8x8xf32>
  %e = stablehlo.tanh %gram : tensor<8x8xf32>
  %c = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.reduce(%e init: %c) applies stablehlo.add across dimensions = [0, 1] : (tensor<8x8xf32>, tensor<f32>) -> tensor<f32>
  return %sum : tensor<f32>
}
"#;

fn gradient(checkpoint: Checkpoint) -> Module {
    let mut module = Compiler::parse(LAYERS.as_bytes()).unwrap();
    let request = Request { checkpoint, ..Request::new(Derivative::Gradient, &[0, 1], &[0]) }.with_value();
    autodiff::differentiate(&mut module, &request).unwrap();
    module
}

fn policies() -> Vec<Checkpoint> {
    let names = || vec!["product".to_owned()];
    let mut all = Vec::new();
    for keep in [Keep::Everything, Keep::Nothing, Keep::Products, Keep::Named(names())] {
        for offload in [Offload::Nothing, Offload::Everything, Offload::Products, Offload::Named(names())] {
            for blocks in [false, true] {
                all.push(Checkpoint {
                    keep: keep.clone(),
                    offload: offload.clone(),
                    blocks,
                    ..Checkpoint::default()
                });
            }
        }
    }
    all
}

/// In a rematerialized layer, a loop that rematerializes its iterations, such as blockwise attention, saves no residuals.
#[test]
fn a_loop_in_a_unit_is_rematerialized_whole() {
    let g = Graph::new("step", &Mesh::new(&[("data", 1)]).unwrap());
    let p = Scope::new(&g).checkpointed(Keep::Nothing);
    let x = g.parameter("x", [16, 8], F32);
    let y = p.unit("outer", x, |p, x| {
        p.stack("layers", 3, x, |p, x| x.dot(p.parameter("kernel", [8, 8], Init::ones())).tanh())
    });
    let dw = p.gradients(y.square().sum(..))[0];
    let module = g.finish(&[("y", y), ("dw", dw)]).unwrap();
    let module = Compiler::new().partition_module(module).unwrap().module;
    let body = module.funcs[module.entry().unwrap()].body.unwrap();
    let loops = module.walk(body).into_iter().filter(|&op| matches!(module.ops[op].kind, OpKind::While));
    let stacks = loops.map(|op| {
        let inside = module.ops[op].regions.iter().flat_map(|&region| module.walk(region));
        inside.filter(|&op| matches!(module.ops[op].kind, OpKind::DynamicUpdateSlice)).count()
    });
    // The loops are the forward pass, the forward pass with residuals, and the backward pass that reads the residuals.
    assert_eq!(stacks.collect::<Vec<_>>(), [0, 1, 1]);
}

fn numbers(arrays: &[HostArray]) -> Vec<f64> {
    arrays.iter().flat_map(HostArray::to_f64_vec).collect()
}

#[test]
fn all_policies_give_equal_gradients() {
    let Some(client) = client().unwrap() else { return };
    let plain = gradient(Checkpoint::default());
    let interface = Compiler::new().partition_module(plain.clone()).unwrap().interface;
    let inputs = exec::random_inputs(&interface, 1).unwrap();
    let run = |module: &Module| {
        numbers(&exec::Program::single(&client, module).unwrap().run(&client, &inputs).unwrap())
    };
    let expected = run(&plain);
    let scale = expected.iter().fold(0.0f64, |most, x| most.max(x.abs()));
    assert!(scale > 1e-3, "the gradient is next to nothing");
    for (i, policy) in sample(policies().into_iter().enumerate(), 1, 3) {
        let module = gradient(policy.clone());
        for (a, b) in run(&module).iter().zip(&expected) {
            assert!((a - b).abs() <= 1e-5 * scale, "{policy:?}: {a} for {b}");
        }
        let mode = [SpmdMode::Replica, SpmdMode::Partition][i % 2];
        let output = Compiler::new().spmd_mode(mode).partition_module(module.clone()).unwrap();
        let reference = Reference::new(&client, module, &output).unwrap();
        assert_eq!(compare(&client, &reference, &output), Verdict::Equal, "{policy:?}, {mode:?}");
    }
}
