//! Tests of tensors that are given as the values of variables.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc_graph::{
    DType::{BF16, F32},
    Graph, Keep, Mesh,
};
use shardc_nn::layers::{BatchNorm, Dense};
use shardc_nn::{Init, Kind, Scope};

/// Returns the errors reported for the model that `build` makes.
fn reported(build: impl for<'g> FnOnce(&'g Graph, &Scope<'g>)) -> Vec<String> {
    let g = Graph::new("step", &Mesh::new(&[("data", 4)]).unwrap());
    let p = Scope::new(&g);
    build(&g, &p);
    let errors = p.finish(&[]).err().map_or(Vec::new(), |errors| errors.0);
    errors.iter().map(|error| error.kind.to_string()).collect()
}

#[test]
fn values_that_do_not_fit_are_reported() {
    let errors = reported(|g, p| {
        let x = g.parameter("x", [8, 3], F32);
        let map = Dense::new(3);
        _ = map.apply(&p.at("a"), x);
        p.at("c").parameter("kernel", [3, 3], Init::ones());
        let given = p.with_values([
            ("a.kernel", g.zeros([3, 4], F32)),
            ("a.bias", g.zeros([3], BF16)),
            ("b.kernel", g.zeros([3, 3], F32)),
            // The variable exists, but no layer here requests it.
            ("c.kernel", g.zeros([3, 3], F32)),
            ("d.kernel", g.zeros([3, 3], F32)),
        ]);
        // The layers request the tensors twice, but each error is reported once.
        for _ in 0..2 {
            _ = map.apply(&given.at("a"), x);
            _ = map.apply(&given.at("b"), x);
        }
        _ = p.with_values([("a.bias", g.zeros([3], F32)), ("a.bias", g.ones([3], F32))]);
    });
    assert_eq!(
        errors,
        [
            "the variable \"a.kernel\" is f32[3, 3], but its value is f32[3, 4]",
            "the variable \"a.bias\" is f32[3], but its value is bf16[3]",
            "the variable \"a.bias\" is replaced twice",
            "with_values names an unknown variable \"d.kernel\"",
        ]
    );
}

#[test]
fn given_statistics_have_next_values() {
    for keep in [None, Some(Keep::Nothing)] {
        let g = Graph::new("step", &Mesh::new(&[("data", 4)]).unwrap());
        let p = Scope::new(&g);
        let p = keep.map_or(p.clone(), |keep| p.checkpointed(keep));
        let x = g.parameter("x", [8, 3], F32);
        let names = ["mean", "var"];
        let own = names.map(|name| p.at("teacher").variable(name, Kind::Statistics, [3], F32, Init::ones()));
        let given = p.with_values(names.map(|name| format!("bn.{name}")).into_iter().zip(own));
        let y = given.unit("bn", x, |p, x| BatchNorm::new().apply(p, x, true));
        assert_eq!(names.map(|name| p.next(&format!("bn.{name}")).is_some()), [false; 2]);
        for name in names {
            p.set(&format!("teacher.{name}"), given.next(&format!("bn.{name}")).unwrap());
        }
        for (param, gradient) in p.trainable().iter().zip(p.gradients(y.square().mean(..))) {
            p.set(&param.name, param.tensor - gradient);
        }
        let step = p.finish(&[]).unwrap();
        let names: Vec<&str> = step.variables.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["teacher.mean", "teacher.var", "bn.scale", "bn.bias"]);
        assert!(step.results.iter().all(Option::is_some));
    }
}

#[test]
fn given_statistics_cannot_be_set_in_loops() {
    let errors = reported(|g, p| {
        let x = g.parameter("x", [8, 3], F32);
        let given = p.with_values([("h.bn.mean", g.zeros([2, 3], F32)), ("h.bn.var", g.ones([2, 3], F32))]);
        given.stack("h", 2, x, |p, x| BatchNorm::new().apply(&p.at("bn"), x, true));
    });
    assert!(errors[0].starts_with("cannot set the variable \"h.bn.mean\" inside a stack"), "{errors:?}");
}
