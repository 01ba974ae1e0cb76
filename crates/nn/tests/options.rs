//! Options of layers that are out of range are reported.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{
    DType::{F32, I32},
    Graph, Mesh, Tensor,
};
use shardc_nn::layers::{Attention, Dense, Dropout, Moe, Places, Rope};
use shardc_nn::models::{Bert, Decoder};
use shardc_nn::{Lora, Scope, optim};

/// What is wrong with what `build` makes.
fn said(build: impl for<'g> FnOnce(&'g Graph, &Scope<'g>) -> Tensor<'g>) -> Vec<String> {
    let g = Graph::new("step", &Mesh::new(&[]).unwrap());
    let p = Scope::new(&g);
    let y = build(&g, &p);
    let errors = p.finish(&[("y", y)]).err().map_or(Vec::new(), |errors| errors.0);
    errors.iter().map(|error| error.kind.to_string()).collect()
}

#[test]
fn dropout_is_a_part() {
    for (rate, shown) in [(-0.5, "-0.5"), (1.5, "1.5"), (f64::NAN, "NaN")] {
        let of = [format!("dropout of {shown}: the part that becomes zero is from 0 to 1")];
        assert_eq!(said(|g, _| Dropout::new(rate).apply(Some(g.key(0)), g.ones([9], F32))), of);
        assert_eq!(said(|g, _| Dropout::new(rate).apply(None, g.ones([9], F32))), of);
        let errors = said(|g, p| {
            let p = p.with_lora(&Lora::new(2, 4.0).dropout(rate), Some(g.key(0)));
            Dense::new(4).apply(&p.at("map"), g.ones([3, 4], F32))
        });
        assert_eq!(errors, of);
    }
    for rate in [0.0, 0.5, 1.0] {
        assert!(said(|g, _| Dropout::new(rate).apply(Some(g.key(0)), g.ones([9], F32))).is_empty());
    }
}

#[test]
fn heads_divide_features() {
    let of = ["10 features do not divide into 4 heads: say what `head_dim` is"];
    let attention = Attention::new(4).causal();
    assert_eq!(said(|g, p| attention.apply(p, g.ones([1, 2, 10], F32))), of);
    let model = Decoder::gpt2(16, 8, 10, 2, 4);
    assert_eq!(said(|g, p| model.next(p, g.zeros([2], I32), g.scalar(0.0, I32), 8)), of);
    assert!(said(|g, p| attention.clone().head_dim(2).apply(p, g.ones([1, 2, 10], F32))).is_empty());
}

#[test]
fn errors_are_where_layers_were_applied() {
    let at = |build: &dyn for<'g> Fn(&'g Graph, &Scope<'g>)| {
        let g = Graph::new("step", &Mesh::new(&[]).unwrap());
        let p = Scope::new(&g);
        build(&g, &p);
        let mut errors = p.finish(&[]).unwrap_err().0;
        errors.dedup_by(|a, b| a.kind == b.kind);
        // What follows from an error is none.
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
}
