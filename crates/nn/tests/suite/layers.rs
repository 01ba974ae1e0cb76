//! The programs of models pass verification, and have the documented number of parameters.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{
    DType::{F32, I32},
    Graph, Mesh,
};
use shardc_nn::loss::CrossEntropy;
use shardc_nn::models::{Decoder, ResNet};
use shardc_nn::{Policy, Scope, StepProgram};

fn step(model: &Decoder, policy: Policy) -> StepProgram {
    let g = Graph::new("step", &Mesh::new(&[("data", 4), ("model", 2)]).unwrap());
    let p = Scope::new(&g).with_policy(policy);
    let tokens = g.parameter("tokens", [4, 8], I32);
    let labels = g.parameter("labels", [4, 8], I32);
    let logits = model.apply(&p, tokens, None).to(policy.reduce);
    let loss = CrossEntropy::new().mean(logits, labels);
    for (param, gradient) in p.trainable().into_iter().zip(p.gradients(loss)) {
        p.set(&param.name, param.tensor - 0.1 * gradient);
    }
    p.finish(&[("loss", loss)]).unwrap()
}

fn names(step: &StepProgram) -> Vec<String> {
    step.variables.iter().map(|variable| format!("{} {:?}", variable.name, variable.shape)).collect()
}

#[test]
fn gpt2_has_the_documented_parameter_count() {
    let step = step(&Decoder::gpt2(32, 16, 8, 3, 2), Policy::default());
    assert_eq!(
        names(&step),
        [
            "wte.embedding [32, 8]",
            "wpe.embedding [16, 8]",
            "h.ln_1.scale [3, 8]",
            "h.ln_1.bias [3, 8]",
            "h.attn.query.kernel [3, 8, 2, 4]",
            "h.attn.query.bias [3, 2, 4]",
            "h.attn.key.kernel [3, 8, 2, 4]",
            "h.attn.key.bias [3, 2, 4]",
            "h.attn.value.kernel [3, 8, 2, 4]",
            "h.attn.value.bias [3, 2, 4]",
            "h.attn.out.kernel [3, 2, 4, 8]",
            "h.attn.out.bias [3, 8]",
            "h.ln_2.scale [3, 8]",
            "h.ln_2.bias [3, 8]",
            "h.mlp.up.kernel [3, 8, 32]",
            "h.mlp.up.bias [3, 32]",
            "h.mlp.down.kernel [3, 32, 8]",
            "h.mlp.down.bias [3, 8]",
            "ln_f.scale [8]",
            "ln_f.bias [8]",
        ]
    );
}

#[test]
fn llama_trains_in_mixed_precision() {
    let step = step(&Decoder::llama(32, 8, 24, 2, 4, 2), Policy::mixed_bf16());
    let names = names(&step);
    assert!(names.contains(&"h.attn.key.kernel [2, 8, 2, 2]".to_owned()), "{names:?}");
    assert!(names.contains(&"lm_head.kernel [8, 32]".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.contains("bias")), "{names:?}");
}

#[test]
fn resnets_have_torchvision_parameter_counts() {
    let counted = |model: &ResNet, size: i64| {
        let g = Graph::new("evaluate", &Mesh::new(&[]).unwrap());
        let p = Scope::new(&g);
        let logits = model.apply(&p, g.parameter("images", [2, size, size, 3], F32), false);
        assert_eq!(logits.shape(), [2, 1000]);
        let step = p.finish(&[("logits", logits)]).unwrap();
        (step.parameters().all, names(&step))
    };
    let (count, names) = counted(&ResNet::resnet18(1000), 224);
    assert_eq!(count, 11_689_512);
    assert!(names.contains(&"layer2.0.downsample.conv.kernel [1, 1, 64, 128]".to_owned()), "{names:?}");
    assert!(!names.iter().any(|name| name.starts_with("layer1.0.downsample")));
    assert_eq!(counted(&ResNet::resnet50(1000), 224).0, 25_557_032);
    assert_eq!(counted(&ResNet::resnet50(1000).sizes(&[1, 1], 16).small_images(), 32).0, 158_584);
}
