//! Options of layers that are out of range are errors.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{
    DType::{BF16, F32, I32},
    Graph, Keep, Mesh, Tensor,
};
use shardc_nn::layers::{Attention, Dense, Dropout, Gru, Lstm, Moe, Places, Rope, Seen, blockwise_attention};
use shardc_nn::models::{Bert, Decoder, ResNet, Vit};
use shardc_nn::{Init, Lora, Scope, optim};

/// Returns the errors reported for the model that `build` makes.
fn errors_of(build: impl for<'g> FnOnce(&'g Graph, &Scope<'g>) -> Tensor<'g>) -> Vec<String> {
    let g = Graph::new("step", &Mesh::new(&[]).unwrap());
    let p = Scope::new(&g);
    let y = build(&g, &p);
    let errors = p.finish(&[("y", y)]).err().map_or(Vec::new(), |errors| errors.0);
    errors.iter().map(|error| error.kind.to_string()).collect()
}

#[test]
fn dropout_rate_is_between_zero_and_one() {
    for (rate, shown) in [(-0.5, "-0.5"), (1.5, "1.5"), (f64::NAN, "NaN")] {
        let of = [format!("the dropout rate must be between 0 and 1, got {shown}")];
        assert_eq!(errors_of(|g, _| Dropout::new(rate).apply(Some(g.key(0)), g.ones([9], F32))), of);
        assert_eq!(errors_of(|g, _| Dropout::new(rate).apply(None, g.ones([9], F32))), of);
        let errors = errors_of(|g, p| {
            let p = p.with_lora(&Lora::new(2, 4.0).dropout(rate), Some(g.key(0)));
            Dense::new(4).apply(&p.at("map"), g.ones([3, 4], F32))
        });
        assert_eq!(errors, of);
    }
    for rate in [0.0, 0.5, 1.0] {
        assert!(errors_of(|g, _| Dropout::new(rate).apply(Some(g.key(0)), g.ones([9], F32))).is_empty());
    }
}

#[test]
fn heads_must_divide_features() {
    let of = ["10 features are not divisible by 4 heads: set `head_dim`"];
    let attention = Attention::new(4).causal();
    assert_eq!(errors_of(|g, p| attention.apply(p, g.ones([1, 2, 10], F32))), of);
    let model = Decoder::gpt2(16, 8, 10, 2, 4);
    assert_eq!(errors_of(|g, p| model.next(p, g.zeros([2], I32), g.scalar(0.0, I32), 8)), of);
    assert!(errors_of(|g, p| attention.clone().head_dim(2).apply(p, g.ones([1, 2, 10], F32))).is_empty());
}

#[test]
fn errors_name_the_line_of_the_layer() {
    let at = |build: &dyn for<'g> Fn(&'g Graph, &Scope<'g>)| {
        let g = Graph::new("step", &Mesh::new(&[]).unwrap());
        let p = Scope::new(&g);
        build(&g, &p);
        let mut errors = p.finish(&[]).unwrap_err().0;
        errors.dedup_by(|a, b| a.kind == b.kind);
        // Errors that follow from another error are not reported.
        let [error] = &errors[..] else { panic!("{errors:?}") };
        assert_eq!(error.location.file(), file!(), "{error}");
    };
    at(&|g, p| {
        let _ = Moe::new(4, 2, 8).expert_axis("expert").apply(p, g.ones([1, 4, 8], F32));
    });
    at(&|g, p| {
        let _ = Bert::new(16, 8, 8, 2, 2).apply(p, g.ones([1, 4], F32), g.zeros([1, 4], I32));
    });
    at(&|g, p| {
        let x = g.ones([1, 4, 8], F32);
        let _ = Attention::new(2).rope(Rope::default()).apply_at(
            p,
            x,
            x,
            &Places { queries: Some(g.ones([3], F32)), ..Places::default() },
        );
    });
    at(&|g, p| {
        let _ = optim::accumulated(p, 2, &g.ones([3, 4], F32), |_, x| x.sum(..));
    });
    at(&|g, p| {
        let _ = optim::accumulated(p, 2, &g.ones([4, 4], F32), |_, x| x);
    });
    // Layers in a loop, or rematerialized: 10 features are not divisible by 4 heads.
    at(&|g, p| {
        let _ = Decoder::gpt2(16, 8, 10, 2, 4).apply(p, g.zeros([1, 4], I32), None);
    });
    at(&|g, p| {
        let _ = Decoder::gpt2(16, 8, 10, 2, 4).prefill(p, g.zeros([1, 4], I32), None, 8);
    });
    at(&|g, p| {
        let _ = Decoder::gpt2(16, 8, 10, 2, 4).next(p, g.zeros([1], I32), g.scalar(0.0, I32), 8);
    });
    at(&|g, p| {
        let _ = Bert::new(16, 8, 10, 2, 4).apply(p, g.zeros([1, 4], I32), g.zeros([1, 4], I32));
    });
    at(&|g, p| {
        let _ = Vit::new(2, 10, 2, 4, 3).apply(&p.checkpointed(Keep::Nothing), g.ones([1, 4, 4, 3], F32));
    });
    at(&|g, p| {
        p.parameter("layer1.0.conv1.kernel", [1], Init::zeros());
        let _ = ResNet::resnet18(3).small_images().apply(p, g.ones([1, 8, 8, 3], F32), true);
    });
    // Layers that scan over blocks of keys, or over positions.
    at(&|g, _| {
        let (q, k, v) = (g.ones([1, 2, 2, 4], F32), g.ones([1, 2, 2, 4], F32), g.ones([1, 2, 2, 3], F32));
        let _ = blockwise_attention(q, k, v, &Seen::default(), 1, F32);
    });
    at(&|g, _| {
        let (q, k) = (g.ones([1, 2, 2, 4], F32), g.ones([1, 2, 2, 4], BF16));
        let _ = blockwise_attention(q, k, k, &Seen::default(), 1, F32);
    });
    at(&|g, p| {
        p.parameter("hi.kernel", [1], Init::zeros());
        let _ = Lstm::new(4).apply(p, g.ones([1, 2, 3], F32));
    });
    at(&|g, p| {
        p.parameter("hr.kernel", [1], Init::zeros());
        let _ = Gru::new(4).apply(p, g.ones([1, 2, 3], F32));
    });
    at(&|g, p| {
        let _ = Gru::new(4).apply(p, g.ones([1, 2, 3], BF16));
    });
}

/// Errors in the user's closure name the source lines of the closure.
#[test]
fn errors_in_user_closures_name_the_closure_line() {
    let g = Graph::new("step", &Mesh::new(&[]).unwrap());
    let p = Scope::new(&g);
    let mut wrong = Vec::new();
    p.stack("h", 2, g.ones([1, 3], F32), |_, x| {
        let (y, line) = (x + g.ones([4], F32), line!());
        wrong.push(line);
        let (_, line) = (x.sum(5), line!());
        wrong.push(line);
        y
    });
    let errors = p.finish(&[]).unwrap_err().0;
    assert_eq!(errors.iter().map(|error| error.location.line()).collect::<Vec<_>>(), wrong);
}
