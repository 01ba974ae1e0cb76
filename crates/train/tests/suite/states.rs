//! Tests of states built from other states.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use shardc::graph::{DType::F32, Graph, Mesh, spec};
use shardc::runtime::{Client, ClientOptions, Environment, Plugin, PluginKind, plugin};
use shardc::{Compiler, Error};
use shardc_train::nn::layers::Dense;
use shardc_train::nn::optim::{self, Sgd};
use shardc_train::nn::{Scope, StepProgram};
use shardc_train::{HostArray, State, Step};

fn client() -> Option<Client> {
    let found = plugin::find(PluginKind::Cpu, &Environment::from_process()).ok()?;
    let plugin = Plugin::load(&found.path).unwrap();
    Some(Client::new(&plugin, ClientOptions { cpu_device_count: Some(4) }).unwrap())
}

/// Builds a model of two layers called `names`, with `classes` outputs, and with a moving average of its parameters if `decay` is given.
fn program(names: [&str; 2], classes: i64, decay: Option<f64>) -> StepProgram {
    let g = Graph::new("step", &Mesh::new(&[("data", 2), ("model", 2)]).unwrap());
    let p = Scope::new(&g);
    let x = g.parameter("x", [4, 8], F32).mark_sharding(spec!["data", None]);
    let h = Dense::new(6).apply(&p.at(names[0]), x).tanh();
    let loss = Dense::new(classes).apply(&p.at(names[1]), h).square().mean(..);
    optim::apply(&Sgd::new(0.1), &p, &p.gradients(loss));
    if let Some(decay) = decay {
        optim::average(&p, "ema", decay);
    }
    p.mark_sharding(|v| v.name.ends_with("kernel").then(|| spec![None, "model"]));
    p.finish(&[("loss", loss)]).unwrap()
}

fn of(state: &State, name: &str) -> Vec<f64> {
    state.get(name).unwrap().to_f64_vec()
}

fn message(result: Result<impl std::fmt::Debug, Error>) -> String {
    result.unwrap_err().to_string()
}

#[test]
fn backbone_is_adopted_by_a_model_with_another_head() {
    let Some(client) = client() else { return };
    let old = Step::single(&client, program(["encoder", "head"], 4, None)).unwrap();
    let new = Step::compile(&client, &Compiler::new(), program(["body", "head"], 10, Some(0.5))).unwrap();
    let (trained, begin) = (old.init(1).unwrap(), new.init(2).unwrap());
    let rename = |name: &str| name.replacen("encoder.", "body.", 1);
    let renamed = trained.renamed(rename).unwrap();
    let error = message(new.adopt_over(&renamed, &begin));
    assert!(
        error.starts_with("error[SH0721]: the state does not match the step: \"head.kernel\" is"),
        "{error}"
    );
    assert!(error.contains("\"head.bias\" is") && error.contains("`State::filtered`"), "{error}");

    let adopted = new.adopt_over(&renamed.filtered(|name| !name.starts_with("head.")), &begin).unwrap();
    let mut missing: Vec<&str> = adopted.missing.iter().map(String::as_str).collect();
    missing.sort_unstable();
    let means = ["ema.body.bias", "ema.body.kernel", "ema.head.bias", "ema.head.kernel"];
    assert_eq!(missing, [&means[..], &["head.bias", "head.kernel"]].concat());
    assert!(adopted.unused.is_empty());
    let mut state = adopted.state;
    for name in ["body.kernel", "ema.body.kernel"] {
        assert_eq!(of(&state, name), of(&trained, "encoder.kernel"), "{name}");
    }
    for name in ["head.kernel", "ema.head.kernel"] {
        assert_eq!(of(&state, name), of(&begin, name), "{name}");
    }
    // No two variables share memory, so a step can run with this state.
    let x = HostArray::from_f64(F32, &[4, 8], &[0.5; 32]).unwrap();
    let [first, second] =
        [(); 2].map(|()| new.run(&mut state, &[("x", &x)]).unwrap().scalar("loss").unwrap());
    assert!(second < first);

    // Without renaming, the variables of the encoder are reported as unused.
    let adopted =
        new.adopt_over(&trained.filtered(|name| name.starts_with("encoder.")), &new.init(2).unwrap());
    let mut unused = adopted.unwrap().unused;
    unused.sort_unstable();
    assert_eq!(unused, ["encoder.bias", "encoder.kernel"]);
    let nothing = trained.filtered(|_| false);
    assert!(message(new.adopt_over(&nothing, &nothing)).starts_with("error[SH0720]"));
}

#[test]
fn states_are_renamed_and_merged() {
    let Some(client) = client() else { return };
    let step = Step::single(&client, program(["a", "b"], 4, None)).unwrap();
    let (one, other) = (step.init(1).unwrap(), step.init(2).unwrap());
    let error = message(one.renamed(|name| name.replace("b.", "a.")));
    assert_eq!(
        error,
        "error[SH0720]: the variables \"a.kernel\" and \"b.kernel\" would both be renamed to \"a.kernel\""
    );
    let error = message(one.merged(&other));
    assert!(error.contains("both states have variables named \"a.kernel\", \"a.bias\""), "{error}");
    let of_a = |name: &str| name.starts_with("a.");
    let merged = one.filtered(of_a).merged(&other.filtered(|name| !of_a(name))).unwrap();
    assert_eq!(merged.len(), one.len());
    assert_eq!(
        (of(&merged, "a.kernel"), of(&merged, "b.kernel")),
        (of(&one, "a.kernel"), of(&other, "b.kernel"))
    );
    // The merged variables are in the order of the step, so the step runs.
    let x = HostArray::zeros(F32, &[4, 8]).unwrap();
    step.run(&mut { merged }, &[("x", &x)]).unwrap();
}
